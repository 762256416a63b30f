{relations_begin}
      -- Bits 4 and 16: it can be updated, and rows can be deleted from it.
      (pg_catalog.pg_relation_is_updatable(c.oid, false) & 20) = 20 as is_updatable,
      pg_catalog.obj_description(c.oid, 'pg_class') as comment
{relations_end:'v'}
