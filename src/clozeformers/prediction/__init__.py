"""Predict whole data sets: rows in, rows out, in shards that an interrupted command goes on from."""
