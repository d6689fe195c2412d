{%- for host, address in {'alpha': '192.0.2.10', 'beta': '192.0.2.11'}.items() %}
gathered_{{ host }}:
  file.accumulated:
    - name: hosts
    - filename: /etc/gathered
    - text: '{{ address }} {{ host }}'
    - require_in: [file: /etc/gathered]
{%- endfor %}
/etc/gathered:
  file.managed:
    - replace: False
    - source: salt://gathered/gathered.jinja
    - template: jinja
gathered_more:
  file.accumulated:
    - name: block
    - filename: /etc/gathered.block
    - text: [first, second]
    - require_in: [file: gathered_block]
gathered_plain:
  file.managed:
    - name: /etc/gathered.block
    - contents: |
        above
        # START
        old
        # END
        below
    - replace: False
    - require_in: [file: gathered_block]
gathered_block:
  file.blockreplace:
    - name: /etc/gathered.block
    - marker_start: '# START'
    - marker_end: '# END'
    - content: given
    - backup: False
gathered_appended:
  file.blockreplace:
    - name: /etc/gathered
    - marker_start: '#-- more --'
    - marker_end: '#-- end --'
    - source: salt://gathered/block.txt
    - append_if_not_found: True
    - backup: '.bak'
    - require: [file: /etc/gathered]
