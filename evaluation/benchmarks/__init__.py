"""How good, measured on published data: each benchmark is a module to run, with --data PATH."""
