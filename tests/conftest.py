"""Being here puts the folder above on the import path, so that every test can import ``tests.support``."""
