"""Error analysis of any task: tables, charts, an HTML report, training curves."""
