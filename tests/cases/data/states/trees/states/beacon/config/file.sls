# -*- coding: utf-8 -*-
# vim: ft=sls
{%- set tplroot = tpldir.split('/')[0] %}
{%- from tplroot ~ "/map.jinja" import beacon with context %}
{%- from tplroot ~ "/libtofs.jinja" import files_switch with context %}

beacon-dir:
  file.directory:
    - name: {{ beacon.dir }}/extra
    - mode: '0750'
    - user: root
    - group: {{ beacon.rootgroup }}
    - makedirs: True

beacon-config:
  file.managed:
    - name: {{ beacon.dir }}/beacon.conf
    - source: {{ files_switch(['beacon.conf.jinja'], lookup='beacon-config') }}
    - mode: 640
    - user: root
    - group: {{ beacon.rootgroup }}
    - makedirs: True
    - template: jinja
    - require:
      - file: beacon-dir
    - context:
        beacon: {{ beacon | json }}

beacon-motd:
  file.managed:
    - name: {{ beacon.get('motd', '/etc/motd.beacon') }}
    - source: {{ files_switch(['motd'], lookup='beacon-motd', default_files_switch=['id']) }}
    - require:
      - file: beacon-config
