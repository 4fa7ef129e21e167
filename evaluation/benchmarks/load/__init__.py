"""The running service under many clients: answers a second, CPU, memory, and how tenants affect
each other. Programs here import `data`, `service` and `search`."""
