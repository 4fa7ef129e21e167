"""The sandbox: what a process gives up before it reads an untrusted file.

In: options. Out: a process that runs as another user, without network, file system and most system
calls, and a report of the layers that are missing. Linux only; imports only the standard library.
"""
