"""The numbers of system calls that a process reading a file does not need."""

from typing import NamedTuple


class Numbers(NamedTuple):
    x86_64: int | None
    aarch64: int | None


# From 424 the numbers are the same on all architectures.
NETWORK = {
    "socket": Numbers(41, 198),
    "connect": Numbers(42, 203),
    "accept": Numbers(43, 202),
    "bind": Numbers(49, 200),
    "listen": Numbers(50, 201),
    "socketpair": Numbers(53, 199),
    "accept4": Numbers(288, 242),
    # io_uring could do what the calls above do.
    "io_uring_setup": Numbers(425, 425),
    "io_uring_enter": Numbers(426, 426),
    "io_uring_register": Numbers(427, 427),
}

OTHER_PROCESSES = {
    "ptrace": Numbers(101, 117),
    "process_vm_readv": Numbers(310, 270),
    "process_vm_writev": Numbers(311, 271),
    "kcmp": Numbers(312, 272),
    "pidfd_send_signal": Numbers(424, 424),
    "pidfd_open": Numbers(434, 434),
    "pidfd_getfd": Numbers(438, 438),
    "process_madvise": Numbers(440, 440),
    "process_mrelease": Numbers(448, 448),
    "tkill": Numbers(200, 130),
    "setpriority": Numbers(141, 140),
    "sched_setparam": Numbers(142, 118),
    "sched_setscheduler": Numbers(144, 119),
    "sched_setattr": Numbers(314, 274),
    "ioprio_set": Numbers(251, 30),
    "migrate_pages": Numbers(256, 238),
    "move_pages": Numbers(279, 239),
    # They leave the process group, by which children are killed together with their parent.
    "setpgid": Numbers(109, 154),
    "setsid": Numbers(112, 157),
    # System V and POSIX messages, semaphores and shared memory
    "shmget": Numbers(29, 194),
    "shmat": Numbers(30, 196),
    "shmctl": Numbers(31, 195),
    "semget": Numbers(64, 190),
    "semctl": Numbers(66, 191),
    "msgget": Numbers(68, 186),
    "msgsnd": Numbers(69, 189),
    "msgrcv": Numbers(70, 188),
    "msgctl": Numbers(71, 187),
    "mq_open": Numbers(240, 180),
}

# Their first argument is a process; only the process itself is allowed.
OWN_PROCESS_ONLY = {
    "kill": Numbers(62, 129),
    "tgkill": Numbers(234, 131),
    "rt_sigqueueinfo": Numbers(129, 138),
    "rt_tgsigqueueinfo": Numbers(297, 240),
}
PRLIMIT = Numbers(302, 261)
IOCTL = Numbers(16, 29)
CLONE = Numbers(56, 220)
CLONE3 = Numbers(435, 435)

PRIVILEGES = {
    "setuid": Numbers(105, 146),
    "setgid": Numbers(106, 144),
    "setreuid": Numbers(113, 145),
    "setregid": Numbers(114, 143),
    "setgroups": Numbers(116, 159),
    "setresuid": Numbers(117, 147),
    "setresgid": Numbers(119, 149),
    "setfsuid": Numbers(122, 151),
    "setfsgid": Numbers(123, 152),
    "capset": Numbers(126, 91),
    "add_key": Numbers(248, 217),
    "request_key": Numbers(249, 218),
    "keyctl": Numbers(250, 219),
}

# Landlock does not control these.
FILE_ATTRIBUTES = {
    "chmod": Numbers(90, None),
    "fchmod": Numbers(91, 52),
    "chown": Numbers(92, None),
    "fchown": Numbers(93, 55),
    "lchown": Numbers(94, None),
    "utime": Numbers(132, None),
    "utimes": Numbers(235, None),
    "futimesat": Numbers(261, None),
    "utimensat": Numbers(280, 88),
    "fchownat": Numbers(260, 54),
    "fchmodat": Numbers(268, 53),
    "fchmodat2": Numbers(452, 452),
    "setxattr": Numbers(188, 5),
    "lsetxattr": Numbers(189, 6),
    "fsetxattr": Numbers(190, 7),
    "removexattr": Numbers(197, 14),
    "lremovexattr": Numbers(198, 15),
    "fremovexattr": Numbers(199, 16),
    "setxattrat": Numbers(463, 463),
    "removexattrat": Numbers(466, 466),
    "file_setattr": Numbers(469, 469),
    "mknod": Numbers(133, None),
    "mknodat": Numbers(259, 33),
    "name_to_handle_at": Numbers(303, 264),
    "open_by_handle_at": Numbers(304, 265),
    "fanotify_init": Numbers(300, 262),
}

SYSTEM = {
    "mount": Numbers(165, 40),
    "umount2": Numbers(166, 39),
    "pivot_root": Numbers(155, 41),
    "chroot": Numbers(161, 51),
    "unshare": Numbers(272, 97),
    "setns": Numbers(308, 268),
    "open_tree": Numbers(428, 428),
    "move_mount": Numbers(429, 429),
    "fsopen": Numbers(430, 430),
    "fsconfig": Numbers(431, 431),
    "fsmount": Numbers(432, 432),
    "fspick": Numbers(433, 433),
    "mount_setattr": Numbers(442, 442),
    "open_tree_attr": Numbers(467, 467),
    "quotactl": Numbers(179, 60),
    "quotactl_fd": Numbers(443, 443),
    "swapon": Numbers(167, 224),
    "swapoff": Numbers(168, 225),
    "acct": Numbers(163, 89),
    "reboot": Numbers(169, 142),
    "kexec_load": Numbers(246, 104),
    "kexec_file_load": Numbers(320, 294),
    "init_module": Numbers(175, 105),
    "finit_module": Numbers(313, 273),
    "delete_module": Numbers(176, 106),
    "bpf": Numbers(321, 280),
    "perf_event_open": Numbers(298, 241),
    "userfaultfd": Numbers(323, 282),
    "syslog": Numbers(103, 116),
    "vhangup": Numbers(153, 58),
    "personality": Numbers(135, 92),
    "settimeofday": Numbers(164, 170),
    "clock_settime": Numbers(227, 112),
    "adjtimex": Numbers(159, 171),
    "clock_adjtime": Numbers(305, 266),
    "sethostname": Numbers(170, 161),
    "setdomainname": Numbers(171, 162),
    "lookup_dcookie": Numbers(212, 18),
    "nfsservctl": Numbers(180, 42),
    "iopl": Numbers(172, None),
    "ioperm": Numbers(173, None),
    "modify_ldt": Numbers(154, None),
    "uselib": Numbers(134, None),
    "ustat": Numbers(136, None),
    "sysfs": Numbers(139, None),
}

# Allowed if the OCR engine is a separate program.
PROGRAMS = {
    "execve": Numbers(59, 221),
    "execveat": Numbers(322, 281),
    "fork": Numbers(57, None),
    "vfork": Numbers(58, None),
}

DENIED = NETWORK | OTHER_PROCESSES | PRIVILEGES | FILE_ATTRIBUTES | SYSTEM
