"""The language and media type of program code by its file name."""

# Language → suffixes. The media type is text/x-<language>.
SUFFIXES: dict[str, tuple[str, ...]] = {
    "asm": (".asm", ".s"),
    "awk": (".awk",),
    "batch": (".bat", ".cmd"),
    "c": (".c", ".h"),
    "clojure": (".clj", ".cljs", ".cljc", ".edn"),
    "cmake": (".cmake",),
    "cpp": (".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".ino"),
    "csharp": (".cs", ".csx"),
    "css": (".css", ".scss", ".sass", ".less"),
    "dart": (".dart",),
    "dockerfile": (".dockerfile",),
    "elixir": (".ex", ".exs"),
    "elm": (".elm",),
    "erlang": (".erl", ".hrl"),
    "fortran": (".f", ".f90", ".f95"),
    "fsharp": (".fs", ".fsx"),
    "go": (".go",),
    "graphql": (".graphql", ".gql"),
    "groovy": (".groovy", ".gradle"),
    "haskell": (".hs",),
    "hcl": (".tf", ".hcl", ".tfvars"),
    "java": (".java",),
    "javascript": (".js", ".mjs", ".cjs", ".jsx"),
    "julia": (".jl",),
    "kotlin": (".kt", ".kts"),
    "lisp": (".lisp", ".el", ".scm", ".rkt"),
    "lua": (".lua",),
    "makefile": (".mk",),
    "matlab": (".m",),
    "nim": (".nim",),
    "nix": (".nix",),
    "ocaml": (".ml", ".mli"),
    "pascal": (".pas", ".pp"),
    "perl": (".pl", ".pm"),
    "php": (".php",),
    "powershell": (".ps1", ".psm1"),
    "protobuf": (".proto",),
    "python": (".py", ".pyi", ".pyw"),
    "r": (".r",),
    "ruby": (".rb", ".rake"),
    "rust": (".rs",),
    "scala": (".scala", ".sc"),
    "shell": (".sh", ".bash", ".zsh", ".ksh", ".fish"),
    "solidity": (".sol",),
    "sql": (".sql",),
    "svelte": (".svelte",),
    "swift": (".swift",),
    "tcl": (".tcl",),
    "typescript": (".ts", ".tsx", ".mts", ".cts"),
    "vb": (".vb", ".bas", ".vbs"),
    "vue": (".vue",),
    "zig": (".zig",),
    "patch": (".diff", ".patch"),
}
# Well-known names without a suffix.
NAMES = {
    "makefile": "makefile",
    "gnumakefile": "makefile",
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "jenkinsfile": "groovy",
    "vagrantfile": "ruby",
    "gemfile": "ruby",
    "rakefile": "ruby",
    "cmakelists.txt": "cmake",
}
ALIASES = {
    "application/javascript": "text/x-javascript",
    "application/x-javascript": "text/x-javascript",
    "text/javascript": "text/x-javascript",
    "application/typescript": "text/x-typescript",
    "application/x-sh": "text/x-shell",
    "text/x-sh": "text/x-shell",
    "text/x-shellscript": "text/x-shell",
    "application/sql": "text/x-sql",
    "text/css": "text/x-css",
    "text/x-csrc": "text/x-c",
    "text/x-chdr": "text/x-c",
    "text/x-c++": "text/x-cpp",
    "text/x-c++src": "text/x-cpp",
    "text/x-java-source": "text/x-java",
    "text/x-script.python": "text/x-python",
    "application/x-python-code": "text/x-python",
    "application/x-httpd-php": "text/x-php",
    "application/x-php": "text/x-php",
    "application/x-ruby": "text/x-ruby",
    "text/rust": "text/x-rust",
    "text/x-golang": "text/x-go",
    "text/x-diff": "text/x-patch",
}


def media_type(language: str) -> str:
    return f"text/x-{language}"


BY_SUFFIX = {
    suffix: media_type(language) for language, suffixes in SUFFIXES.items() for suffix in suffixes
}
BY_NAME = {name: media_type(language) for name, language in NAMES.items()}
