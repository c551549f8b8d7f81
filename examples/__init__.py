"""Programs to run and to copy from; each folder has a README."""
