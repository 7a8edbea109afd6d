"""Runs pip with the arguments given here. Of the user's settings those alone count that say how
packages are reached: others (user, target, root, require-virtualenv, dry-run, constraint, …)
would change what is installed, or where."""

import ast
import os
import re
import runpy
import subprocess
import sys

REACHING = {
    "PIP_" + name
    for name in """INDEX_URL EXTRA_INDEX_URL FIND_LINKS NO_INDEX TRUSTED_HOST PROXY NO_PROXY_ENV
    CERT CLIENT_CERT KEYRING_PROVIDER TIMEOUT DEFAULT_TIMEOUT RETRIES RESUME_RETRIES USE_FEATURE
    USE_DEPRECATED""".split()
}
# In the present folder, whose files may be anybody's, no pip is looked for.
PIP = f"""import runpy, sys
sys.path[:] = {[folder for folder in sys.path if folder]!r}
runpy.run_module('pip', run_name='__main__', alter_sys=True)"""
# Settings apply to the listing, too: --user, --global or --site would be those of one file alone.
plain = dict(os.environ)
for name in "USER", "GLOBAL", "SITE", "QUIET", "VERBOSE", "REQUIRE_VIRTUALENV":
    plain["PIP_" + name] = "0"
listing = subprocess.run(
    [sys.executable, "-E", "-c", PIP, "config", "list"],
    env=plain,
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
).stdout.decode(errors="replace")
settings = {}
for section in "global", "install":  # which takes precedence
    for name, value in re.findall("(?m)^" + section + r"\.([\w-]+)=(.*)$", listing):
        settings["PIP_" + name.upper().replace("-", "_")] = ast.literal_eval(value.strip())
given = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PIP_")}
settings.update({name: value for name, value in given.items() if value})
os.environ.update({name: settings[name] for name in REACHING if name in settings})
os.environ["PIP_CONFIG_FILE"] = os.devnull
runpy.run_module("pip", run_name="__main__", alter_sys=True)
