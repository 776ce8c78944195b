"""The page: pipelines in a browser. `app` needs Gradio; the other modules draw and compute without it."""
