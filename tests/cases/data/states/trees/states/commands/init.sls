commands_made:
  cmd.run:
    - name: touch made; echo done
    - cwd: /srv
    - creates: /srv/made
commands_unless:
  cmd.run:
    - name: echo unless >> /srv/commands.log
    - unless: [test -e /nowhere, test -s /srv/commands.log]
commands_onlyif:
  cmd.run:
    - name: echo never
    - onlyif: test -d /nowhere
commands_fun:
  cmd.run:
    - name: echo fun >> /srv/commands.fun
    - unless:
      - fun: file.file_exists
        path: /srv/commands.fun
commands_env:
  cmd.run:
    - name: 'echo "$GREETING $WHO" > /srv/commands.env; cat /srv/commands.env >&2'
    - env:
      - GREETING: good day
      - WHO: '{{ grains.id }}'
    - umask: '077'
    - creates: /srv/commands.env
commands_stateful:
  cmd.run:
    - name: 'echo; echo "changed=yes comment=''all new'' count=2"'
    - stateful: True
commands_stateful_json:
  cmd.run:
    - name: |
        printf 'noise\n{"changed": false, "comment": "nothing new"}\n'
    - stateful: True
commands_stateful_test:
  cmd.run:
    - name: 'echo "changed=yes comment=real"'
    - stateful:
      - test_name: 'echo "changed=yes comment=would"'
commands_failed:
  cmd.run:
    - name: echo out; echo err >&2; exit 3
commands_success:
  cmd.run:
    - name: exit 3
    - success_retcodes: [3]
commands_script:
  cmd.script:
    - source: salt://commands/script.sh
    - args: one two
    - cwd: /srv
    - template: jinja
    - creates: /srv/commands.script
commands_check:
  file.managed:
    - name: /srv/commands.checked
    - contents: bad
    - check_cmd: grep -q good
commands_checked:
  cmd.run:
    - name: 'true'
    - check_cmd: ['test -e /srv/made']
commands_wait:
  cmd.wait:
    - name: echo waited >> /srv/commands.waited
    - watch: [cmd: commands_made]
commands_multiline:
  cmd.run:
    - name: |
        set -e
        for i in 1 2; do
          echo "$i"
        done
    - runas: root
    - shell: /bin/bash
commands_hidden:
  cmd.run:
    - name: echo secret
    - hide_output: True
commands_retry:
  cmd.run:
    - name: test -e /srv/made
    - retry: {attempts: 2, interval: 1}
