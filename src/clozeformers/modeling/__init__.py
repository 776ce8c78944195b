"""Models: an encoder, a query-context attention, and a head."""
