create table users (id text, a text, b text, c text, n numeric);
insert into users values ('web1', 'x', 'one', 'p', 1), ('web1', 'x', 'two', 'q', 2),
    ('web1', 'y', 'one', null, 3.5), ('db1', 'z', 'secret', 's', 9), ('web1', 'x', 'two', 'r', 4);
create table docs (id text, doc text);
insert into docs values ('web1', '{"k": {"l": [1]}, "m": 2}'), ('web1', '{"k": {"l": [2], "o": 5}}');
