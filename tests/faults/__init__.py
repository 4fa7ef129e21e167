"""`make faults`: each fault tried on the running service, with a ledger of what was acknowledged.

runner.py selects and runs, ledger.py keeps what was promised, stage.py is the service with its
tenants, provider.py the embedding API it depends on; families/ has the faults.
"""
