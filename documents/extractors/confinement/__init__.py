"""What a process gives up before it reads an untrusted file: its user, the network, the file
system and most of the kernel. Linux only, standard library only, and honest about what is missing.
"""
