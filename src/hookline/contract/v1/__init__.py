"""Code that protoc made of proto/hookline/v1; regenerate it with proto/generate.py."""
