#!/usr/bin/env python3
"""A broker of a single node, as ``rabbitmqctl`` and ``rabbitmq-plugins`` show it from 3.8 on."""

import json
import os
import sys
from pathlib import Path

PLACE = Path(os.environ.get("FAKE_RABBIT") or Path(__file__).with_name("rabbit.json"))
EMPTY = {
    "users": {"guest": {"password": "guest", "tags": ["administrator"]}},
    "vhosts": {
        "/": {"permissions": {"guest": [".*", ".*", ".*"]}, "policies": {}, "upstreams": {}}
    },
    "plugins": [],
    "cluster": ["rabbit@here"],
    "runs": True,
    "log": [],
}
PLUGINS = ("rabbitmq_management", "rabbitmq_shovel", "rabbitmq_federation")


class Failed(Exception):
    pass


def table(headers, rows, quiet):
    lines = [] if quiet > 1 else ["\t".join(headers)]
    return [*lines, *("\t".join(map(str, row)) for row in rows)]


class Broker:
    def __init__(self, state):
        self.state = state
        self.quiet = 0
        self.vhost = "/"
        self.options = {}

    def of_vhost(self):
        if self.vhost not in self.state["vhosts"]:
            raise Failed(f"Virtual host '{self.vhost}' does not exist")
        return self.state["vhosts"][self.vhost]

    def user(self, name):
        if name not in self.state["users"]:
            raise Failed(f'User "{name}" does not exist')
        return self.state["users"][name]

    def do_list_users(self):
        rows = ((name, f"[{', '.join(u['tags'])}]") for name, u in self.state["users"].items())
        return table(("user", "tags"), rows, self.quiet)

    def do_add_user(self, name, password=None):
        if name in self.state["users"]:
            raise Failed(f'User "{name}" already exists')
        if password is None:
            password = sys.stdin.readline().rstrip("\n")
        self.state["users"][name] = {"password": password, "tags": []}

    def do_delete_user(self, name):
        self.user(name)
        del self.state["users"][name]
        for vhost in self.state["vhosts"].values():
            vhost["permissions"].pop(name, None)

    def do_change_password(self, name, password=None):
        if password is None:
            password = sys.stdin.readline().rstrip("\n")
        self.user(name)["password"] = password

    def do_clear_password(self, name):
        self.user(name)["password"] = None

    def do_authenticate_user(self, name, password=None):
        if password is None:
            password = sys.stdin.readline().rstrip("\n")
        if self.user(name)["password"] != password:
            raise Failed("failed to authenticate user")
        return ["Success"]

    def do_set_user_tags(self, name, *tags):
        self.user(name)["tags"] = [tag for tag in tags if tag]

    def do_list_vhosts(self):
        return table(("name",), ((name,) for name in self.state["vhosts"]), self.quiet)

    def do_add_vhost(self, name):
        if name in self.state["vhosts"]:
            raise Failed(f"vhost '{name}' already exists")
        self.state["vhosts"][name] = {"permissions": {}, "policies": {}, "upstreams": {}}

    def do_delete_vhost(self, name):
        self.vhost = name
        self.of_vhost()
        del self.state["vhosts"][name]

    def do_set_permissions(self, name, conf, write, read):
        self.user(name)
        self.of_vhost()["permissions"][name] = [conf, write, read]

    def do_clear_permissions(self, name):
        self.of_vhost()["permissions"].pop(name, None)

    def do_list_permissions(self):
        rows = ((name, *three) for name, three in self.of_vhost()["permissions"].items())
        return table(("user", "configure", "write", "read"), rows, self.quiet)

    def do_list_user_permissions(self, name):
        self.user(name)
        rows = (
            (vhost, *its["permissions"][name])
            for vhost, its in self.state["vhosts"].items()
            if name in its["permissions"]
        )
        return table(("vhost", "configure", "write", "read"), rows, self.quiet)

    def do_list_policies(self):
        heads = ("vhost", "name", "pattern", "apply-to", "definition", "priority")
        rows = (
            (self.vhost, name, p["pattern"], p["apply"], p["definition"], p["priority"])
            for name, p in self.of_vhost()["policies"].items()
        )
        return table(heads, rows, self.quiet)

    def do_set_policy(self, name, pattern, definition):
        if not isinstance(json.loads(definition), dict):
            raise Failed("not a map")
        self.of_vhost()["policies"][name] = {
            "pattern": pattern,
            "definition": definition,
            "priority": self.options.get("--priority", "0"),
            "apply": self.options.get("--apply-to", "all"),
        }

    def do_clear_policy(self, name):
        if name not in self.of_vhost()["policies"]:
            raise Failed("Parameter does not exist")
        del self.of_vhost()["policies"][name]

    def do_list_parameters(self):
        rows = (
            ("federation-upstream", name, value)
            for name, value in self.of_vhost()["upstreams"].items()
        )
        return table(("component", "name", "value"), rows, self.quiet)

    def do_set_parameter(self, component, name, value):
        json.loads(value)
        self.of_vhost()["upstreams"][name] = value

    def do_clear_parameter(self, component, name):
        if name not in self.of_vhost()["upstreams"]:
            raise Failed("Parameter does not exist")
        del self.of_vhost()["upstreams"][name]

    def do_cluster_status(self):
        nodes = self.state["cluster"]
        if self.options.get("--formatter") == "json":
            return [json.dumps({"disk_nodes": nodes, "ram_nodes": [], "running_nodes": nodes})]
        return ["Cluster status of node rabbit@here ...", "Basics", "", "Cluster name: rabbit@here",
                "", "Disk Nodes", "", *nodes, "", "Running Nodes", "", *nodes]  # fmt: skip

    def do_join_cluster(self, node):
        if self.state["runs"]:
            raise Failed("mnesia_unexpectedly_running")
        self.state["cluster"] = ["rabbit@here", node]

    def do_stop_app(self):
        self.state["runs"] = False

    def do_start_app(self):
        self.state["runs"] = True

    def do_reset(self):
        self.state["cluster"] = ["rabbit@here"]

    do_force_reset = do_reset

    def do_status(self):
        return ["Runtime", "", f"Is running: {self.state['runs']}"]

    def do_list_queues(self, *columns):
        return table(columns or ("name", "messages"), (), self.quiet)

    def do_list(self, *patterns):
        enabled = self.state["plugins"]
        names = enabled if self.options.get("-e") or self.options.get("-E") else PLUGINS
        return sorted(names)

    def do_enable(self, *names):
        for name in names:
            if name not in PLUGINS:
                raise Failed(f"{{:plugins_not_found, [:{name}]}}")
            if name not in self.state["plugins"]:
                self.state["plugins"].append(name)

    def do_disable(self, *names):
        self.state["plugins"] = [one for one in self.state["plugins"] if one not in names]


TAKE = {"--priority", "--apply-to", "--formatter", "-n"}
FLAGS = {"-q": 1, "--quiet": 1, "-s": 2, "--silent": 2, "--no-table-headers": 2}


def words_of(broker, argv):
    """The command and its arguments; options are noted in the broker."""
    words, given = [], list(argv)
    while given:
        word = given.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            return words + given
        if word in FLAGS:
            broker.quiet = max(broker.quiet, FLAGS[word])
        elif word in ("-p", "--vhost"):
            broker.vhost = given.pop(0)
        elif name in TAKE:
            broker.options[name] = value if equals else given.pop(0)
        elif word in ("-m", "-e", "-E"):
            broker.options[word] = True
        else:
            words.append(word)
    return words


def main(argv):
    state = json.loads(PLACE.read_text()) if PLACE.exists() else json.loads(json.dumps(EMPTY))
    state["log"].append(argv)
    broker = Broker(state)
    words = words_of(broker, argv)
    command = getattr(broker, f"do_{words[0]}", None) if words else None
    code = 0
    try:
        if command is None:
            print(f"Command '{' '.join(words)}' not found", file=sys.stderr)
            code = 64
        else:
            lines = command(*words[1:])
            if lines is None and not broker.quiet:
                lines = ["ok ..."]
            print("\n".join(lines or []))
    except (Failed, ValueError) as error:
        print(f"Error:\n{error}", file=sys.stderr)
        code = 70
    PLACE.write_text(json.dumps(state))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
