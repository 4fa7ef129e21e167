"""The sandbox: what a process gives up before it reads an untrusted file.

In: options. Out: a process without another user's rights, network, file system and most of the
kernel, and a report of the layers that are missing. Linux only; imports the standard library only.
"""
