"""The page: pipelines in a browser. `app` needs Gradio, `tabs` does without it."""
