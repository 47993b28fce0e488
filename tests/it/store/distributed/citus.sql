-- Stands for the Citus extension: its functions, with the checks of theirs that our schema must pass. Each table is one shard, on
-- the only node.
CREATE SCHEMA citus;
CREATE TABLE citus.pg_dist_partition (
    logicalrelid regclass PRIMARY KEY, distributed_by text, beside text, colocationid integer, partmethod "char"
);
CREATE TABLE citus.pg_dist_shard (logicalrelid regclass, shardid bigint, shardminvalue text);
CREATE TABLE citus.pg_dist_placement (shardid bigint, groupid integer);
CREATE TABLE citus.pg_dist_local_group (groupid integer);
INSERT INTO citus.pg_dist_local_group VALUES (0);
-- The committed transactions that locked a shard, by the port of their client.
CREATE TABLE citus.locked (shardid bigint, client integer);
-- The addresses of nodes, at all of which this server answers. What answers at one may be another server than the coordinator means.
CREATE TABLE citus.workers (nodename text, nodeport integer, is_other boolean);
CREATE TABLE citus.distributed_functions (name regprocedure, distributed_by text, beside regclass);
CREATE TABLE citus.truncated (name regclass);
-- While a table stands here, distributing it fails.
CREATE TABLE citus.failing (name text);

-- What adds rows in several of its parts is no worker's: the coordinator takes it apart, copies between the parts and commits in
-- two phases. It would be slow, not wrong; here it fails.
CREATE FUNCTION citus.refuse_several_parts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF regexp_count(current_query(), 'INSERT INTO') > 1 THEN
        RAISE EXCEPTION 'rows are added in several parts: %', current_query();
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION citus.create_distributed_table(
    table_name regclass, distribution_column text, distribution_type text DEFAULT 'hash', colocate_with text DEFAULT 'default'
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    wrong regclass;
BEGIN
    IF EXISTS (SELECT FROM citus.failing WHERE name = table_name::text) THEN
        RAISE EXCEPTION 'the worker is gone';
    END IF;
    SELECT i.indexrelid INTO wrong FROM pg_index i WHERE i.indrelid = table_name AND i.indisunique AND NOT EXISTS (
        SELECT FROM pg_attribute a
        WHERE a.attrelid = table_name AND a.attname = distribution_column AND a.attnum = ANY (i.indkey::smallint[])
    );
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'cannot create constraint %: a unique index must have the distribution column', wrong;
    END IF;
    IF colocate_with NOT IN ('none', 'default') AND NOT EXISTS (
        SELECT FROM citus.pg_dist_partition WHERE logicalrelid = colocate_with::regclass
    ) THEN
        RAISE EXCEPTION 'relation % is not distributed', colocate_with;
    END IF;
    INSERT INTO citus.pg_dist_partition VALUES (
        table_name, distribution_column, colocate_with,
        CASE WHEN colocate_with = 'none' THEN table_name::oid::integer ELSE colocate_with::regclass::oid::integer END, 'h'
    );
    INSERT INTO citus.pg_dist_shard VALUES (table_name, table_name::oid::bigint + 100000, '-2147483648');
    INSERT INTO citus.pg_dist_placement VALUES (table_name::oid::bigint + 100000, 0);
    EXECUTE format(
        'CREATE TRIGGER several_parts AFTER INSERT ON %s FOR EACH STATEMENT EXECUTE FUNCTION citus.refuse_several_parts()', table_name
    );
END
$$;

CREATE FUNCTION citus.create_reference_table(table_name regclass) RETURNS void LANGUAGE sql AS $$
    INSERT INTO citus.pg_dist_partition VALUES (table_name, 'everywhere', '', NULL, 'n');
    INSERT INTO citus.pg_dist_shard VALUES (table_name, table_name::oid::bigint + 100000, NULL);
$$;

CREATE FUNCTION citus.truncate_local_data_after_distributing_table(function_name regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM citus.pg_dist_partition WHERE logicalrelid = function_name) THEN
        RAISE EXCEPTION 'supplied parameter is not a distributed relation';
    END IF;
    INSERT INTO citus.truncated VALUES (function_name);
END
$$;

CREATE FUNCTION citus.create_distributed_function(function_name regprocedure, distribution_arg_name text, colocate_with text)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO citus.distributed_functions VALUES (function_name, distribution_arg_name, colocate_with::regclass)
$$;

CREATE FUNCTION citus.get_shard_id_for_distribution_column(table_name regclass, distribution_value anyelement)
RETURNS bigint LANGUAGE sql AS $$
    SELECT shardid FROM citus.pg_dist_shard WHERE logicalrelid = table_name
$$;

CREATE FUNCTION citus.shard_name(object_name regclass, shard_id bigint) RETURNS text LANGUAGE sql AS $$
    SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = object_name
$$;

CREATE FUNCTION citus.run_command_on_all_nodes(command text) RETURNS TABLE (success boolean) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE command;
    RETURN QUERY SELECT true;
END
$$;

CREATE FUNCTION citus.lock_shard_metadata(lock_mode integer, shard_ids bigint[]) RETURNS void LANGUAGE sql AS $$
    INSERT INTO citus.locked SELECT unnest(shard_ids), inet_client_port()
$$;

CREATE FUNCTION citus.run_command_on_workers(command text)
RETURNS TABLE (nodename text, nodeport integer, success boolean, result text) LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    EXECUTE command INTO answer;
    RETURN QUERY SELECT w.nodename, w.nodeport, true, CASE WHEN is_other THEN 'another' ELSE answer END FROM citus.workers w;
END
$$;
