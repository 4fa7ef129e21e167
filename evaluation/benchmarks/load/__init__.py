"""The running service under many clients: answers per second, CPU, memory, and the influence of
tenants on each other. Programs here import `data`, `service` and `search`."""
