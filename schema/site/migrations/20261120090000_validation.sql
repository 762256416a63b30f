-- What the site's tables share: a schema that the API does not expose, the trigger functions that several tables use,
-- and the shapes of text that their checks accept.

create schema private;
comment on schema private is
  'Helpers of the site''s tables: checks, triggers and role look-ups. Not exposed by the API.';

create function private.set_updated_at() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.updated_at := now();
  return new;
end
$$;
comment on function private.set_updated_at() is 'Row trigger: stamps updated_at with the time of the change.';

create function private.normalise_email() returns trigger
language plpgsql set search_path = '' as $$
begin
  new.email := lower(btrim(new.email));
  return new;
end
$$;
comment on function private.normalise_email() is
  'Row trigger: trims and lowercases the e-mail address, so that one address written in two ways meets the same unique constraint.';

create function private.is_line(value text, shortest integer, longest integer) returns boolean
language sql immutable strict parallel safe set search_path = ''
return char_length(value) between shortest and longest
  and value = btrim(value)
  and value !~ '[\u0001-\u001f\u007f-\u009f]';
comment on function private.is_line(text, integer, integer) is
  'True for one line of trimmed text without control characters whose length in characters is within the limits.';

create function private.is_text(value text, shortest integer, longest integer) returns boolean
language sql immutable strict parallel safe set search_path = ''
return char_length(value) between shortest and longest
  and value !~ '[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]';
comment on function private.is_text(text, integer, integer) is
  'True for text within the limits, in characters, whose only control characters are tabs and line ends.';

create function private.is_email(value text) returns boolean
language sql immutable strict parallel safe set search_path = ''
return char_length(value) between 5 and 254
  and value ~ '^[A-Za-z0-9.!#$%&*+/=?^_{|}~-]+@[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$'
  and value !~ '\.\.|^\.|\.@|\.$';
comment on function private.is_email(text) is
  'True for an e-mail address of 5 to 254 characters: one @, a dotted domain, no quotes, tags, control characters or stray dots.';

create function private.is_web_address(value text) returns boolean
language sql immutable strict parallel safe set search_path = ''
return char_length(value) <= 2048 and value ~ '^https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?([/?#][^\s<>"\u0001-\u001f\u007f-\u009f]*)?$';
comment on function private.is_web_address(text) is
  'True for an absolute http or https address of at most 2048 characters.';

create function private.has_active_content(value text) returns boolean
language sql immutable strict parallel safe set search_path = ''
return value ~* '<\s*/?\s*(script|iframe|object|embed|form|meta|link)\M|\m(javascript|vbscript|data)\s*:|\mon[a-z]+\s*=|\mexpression\s*\(|\murl\s*\(|@import|\mbinding\s*:';
comment on function private.has_active_content(text) is
  'True for text that a browser could run if somebody pasted it into a page: script-bearing tags, script and data schemes, inline handlers, CSS code.';

-- A negative list: [[:alpha:]] depends on the database's locale and would refuse "José" where that is "C".
create function private.is_person_name(value text) returns boolean
language sql immutable strict parallel safe set search_path = ''
return private.is_line(value, 2, 100)
  and value !~ '[][0-9!"#$%&()*+,./:;<=>?@\\^_`{|}~]'
  and value !~ '[\u00a0-\u00bf\u00d7\u00f7\u2000-\u2018\u201a-\u2bff\u3000-\u3004\u3008-\u3020\ue000-\uf8ff\ufe00-\ufe0f\ufff0-\uffff\U0001f000-\U0001faff]';
comment on function private.is_person_name(text) is
  'True for 2 to 100 letters of any script, spaces, hyphens and apostrophes.';

create function private.is_business_line(value text, longest integer) returns boolean
language sql immutable strict parallel safe set search_path = ''
return private.is_line(value, 2, longest)
  and value !~ '[][<>{}\\/^$|?*+()]'
  and not private.has_active_content(value);
comment on function private.is_business_line(text, integer) is
  'True for a person''s or company''s name as the contact form accepts it: at least 2 characters, none of < > { } [ ] \ / ^ $ | ? * + ( ).';

create function private.page_names() returns text[]
language sql immutable parallel safe set search_path = ''
return array['home', 'about us'];
comment on function private.page_names() is 'The pages that can show testimonials.';
