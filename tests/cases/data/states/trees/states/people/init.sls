{%- set people = salt['pillar.get']('people', {}) %}
{%- for name, group in people.get('groups', {}) | dictsort %}
people_group_{{ name }}:
  {%- if group.get('absent') %}
  group.absent:
    - name: {{ name }}
  {%- else %}
  group.present:
    - name: {{ name }}
    - gid: {{ group.gid }}
  {%- endif %}
{%- endfor %}

{%- for name, user in people.get('users', {}).items() %}
  {%- if user.get('absent', False) %}
people_absent_{{ name }}:
  user.absent:
    - name: {{ name }}
    - purge: True
  file.absent:
    - name: /home/{{ name }}
    - require:
      - user: people_absent_{{ name }}
  {%- else %}
  {%- set home = user.get('home', '/home/%s' % name) %}
people_{{ name }}:
  group.present:
    - name: {{ name }}
    - gid: {{ user.uid }}
  user.present:
    - name: {{ name }}
    - uid: {{ user.uid }}
    - gid: {{ user.uid }}
    - home: {{ home }}
    - shell: {{ user.get('shell', '/bin/bash') }}
    - fullname: {{ user.fullname }}
    - createhome: False
    - optional_groups: [nosuchgroup]
    {%- if user.groups is defined %}
    - groups: {{ user.groups | json }}
    {%- endif %}
    - require:
      - group: people_{{ name }}
      - group: people_group_crew
  file.directory:
    - name: {{ home }}
    - user: {{ name }}
    - group: {{ name }}
    - mode: 0750
    - require:
      - user: people_{{ name }}
    {%- for key in user.get('keys', []) %}
people_{{ name }}_key_{{ loop.index }}:
  ssh_auth.present:
    - user: {{ name }}
    - name: {{ key }}
    - require:
      - file: people_{{ name }}
    {%- endfor %}
    {%- for path, text in user.get('files', {}).items() %}
{{ home }}/{{ path }}:
  file.managed:
    - user: {{ name }}
    - group: {{ name }}
    - mode: 600
    - contents_pillar: 'people:users:{{ name }}:files:{{ path }}'
    - require:
      - file: people_{{ name }}
    {%- endfor %}
  {%- endif %}
{%- endfor %}
people_files:
  file.recurse:
    - name: /home/bob/shared
    - source: salt://people/files
    - user: bob
    - group: crew
    - require:
      - file: people_bob
