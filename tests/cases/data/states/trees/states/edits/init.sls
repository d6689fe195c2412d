edits_file:
  file.managed:
    - name: /etc/edited.conf
    - source: salt://edits/edited.conf
    - replace: False
edits_append:
  file.append:
    - name: /etc/edited.conf
    - text: ['# tail', 'tail = 1']
    - require: [file: edits_file]
edits_prepend:
  file.prepend:
    - name: /etc/edited.conf
    - text: '# head'
    - require: [file: edits_append]
edits_replace:
  file.replace:
    - name: /etc/edited.conf
    - pattern: '^port\s*=.*$'
    - repl: 'port = 2222'
    - backup: '.orig'
    - require: [file: edits_prepend]
edits_replace_new:
  file.replace:
    - name: /etc/edited.conf
    - pattern: ^absent=.*
    - repl: absent=now
    - append_if_not_found: True
    - backup: False
    - require: [file: edits_replace]
edits_line:
  file.line:
    - name: /etc/edited.conf
    - mode: ensure
    - content: inserted = yes
    - after: '^\[main\]'
    - require: [file: edits_replace_new]
edits_comment:
  file.comment:
    - name: /etc/edited.conf
    - regex: ^legacy
    - require: [file: edits_line]
edits_uncomment:
  file.uncomment:
    - name: /etc/edited.conf
    - regex: modern = yes
    - backup: False
    - require: [file: edits_comment]
edits_keyvalue:
  file.keyvalue:
    - name: /etc/edited.conf
    - key_values: {user: daemon, level: 'debug'}
    - separator: ' = '
    - uncomment: '#'
    - append_if_not_found: True
    - require: [file: edits_uncomment]
edits_gone:
  file.replace:
    - name: /etc/nothing.conf
    - pattern: a
    - repl: b
edits_ignored:
  file.replace:
    - name: /etc/nothing.conf
    - pattern: a
    - repl: b
    - ignore_if_missing: True
