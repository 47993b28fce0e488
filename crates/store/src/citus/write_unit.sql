-- Runs statements of accounts that lie on one worker there, where the coordinator delegates the call, as one transaction. Part n
-- runs statement used[n] on the rows of shard shards[n]. The worker's planner would take a statement apart as the coordinator's does,
-- so its text gets the names of the shards, those of tables that every node has included. A statement has sizes[...] values; those of
-- all parts are v, as text. Returns the number of rows derived, which is the first column of each statement.
DROP FUNCTION IF EXISTS write_unit(uuid, text, text[]);
CREATE OR REPLACE FUNCTION write_unit(
    account uuid, patience text, shards bigint[], used integer[], statements text[], sizes integer[], v text[]
) RETURNS bigint LANGUAGE plpgsql
SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $function$
DECLARE
    plans_max CONSTANT integer := 200;
    values_max CONSTANT integer := 256;
    digests text[] := ARRAY(SELECT md5(s.text) FROM unnest(statements) WITH ORDINALITY AS s (text, position) ORDER BY s.position);
    plan text;
    own_statement text;
    own_values text[];
    first integer := 1;
    size integer;
    part record;
    derived bigint;
    derived_by_all bigint := 0;
BEGIN
    PERFORM set_config('lock_timeout', patience, true);
    -- 5 is SHARE, the lock of each statement that writes to a shard. Moving or splitting a shard waits for this transaction, and
    -- this one for that; afterwards the accounts may lie elsewhere. The accounts of a shard stay the same as long as it exists.
    PERFORM lock_shard_metadata(5, shards);
    IF EXISTS (
        SELECT FROM unnest(shards) AS s (id) WHERE NOT EXISTS (
            SELECT FROM pg_dist_placement JOIN pg_dist_local_group USING (groupid) WHERE shardid = s.id
        )
    ) THEN
        RAISE EXCEPTION 'an account lies on another node' USING ERRCODE = 'CP001';
    END IF;
    FOR n IN 1 .. cardinality(shards) LOOP
        size := sizes[used[n]];
        own_values := v[first : first + size - 1];
        first := first + size;
        plan := format('unit_%s_%s', shards[n], digests[used[n]]);
        IF size > values_max OR current_setting('card_payments.' || plan, true) IS DISTINCT FROM 'kept' THEN
            own_statement := statements[used[n]];
            FOR part IN
                SELECT own.logicalrelid AS relation, shard_name(own.logicalrelid, own.shardid) AS shard
                FROM pg_dist_shard a JOIN pg_dist_partition pa ON pa.logicalrelid = a.logicalrelid
                JOIN pg_dist_shard own ON true JOIN pg_dist_partition p ON p.logicalrelid = own.logicalrelid
                JOIN pg_class c ON c.oid = own.logicalrelid
                WHERE a.shardid = shards[n] AND c.relnamespace = current_schema()::regnamespace
                AND strpos(statements[used[n]], c.relname) > 0
                AND (own.shardminvalue = a.shardminvalue AND p.colocationid = pa.colocationid OR p.partmethod = 'n')
            LOOP
                own_statement := regexp_replace(
                    own_statement, format('\m(INTO|UPDATE|FROM|JOIN) "?%s\M"? AS ', part.relation),
                    format('\1 %s AS ', part.shard), 'g'
                );
                own_statement := regexp_replace(
                    own_statement, format('\m(INTO|UPDATE|FROM|JOIN) "?%s\M"?', part.relation),
                    format('\1 %s AS %s', part.shard, part.relation), 'g'
                );
            END LOOP;
        END IF;
        IF size > values_max THEN
            EXECUTE own_statement INTO derived USING own_values;
            derived_by_all := derived_by_all + derived;
            CONTINUE;
        END IF;
        IF current_setting('card_payments.' || plan, true) IS DISTINCT FROM 'kept' THEN
            -- A session keeps its newest plans. A rollback undoes the settings, but neither PREPARE nor DEALLOCATE: so a plan's setting
            -- goes first, and the plan when a later transaction finds it without.
            FOR part IN
                SELECT p.name FROM pg_prepared_statements p
                WHERE starts_with(p.name, 'unit_') AND current_setting('card_payments.' || p.name, true) IS DISTINCT FROM 'kept'
            LOOP
                EXECUTE format('DEALLOCATE %I', part.name);
            END LOOP;
            FOR part IN
                SELECT p.name FROM pg_prepared_statements p
                WHERE starts_with(p.name, 'unit_') ORDER BY p.prepare_time DESC OFFSET plans_max - 1
            LOOP
                PERFORM set_config('card_payments.' || part.name, '', false);
            END LOOP;
            EXECUTE format('PREPARE %I (text[]) AS %s', plan, own_statement);
            PERFORM set_config('card_payments.' || plan, 'kept', false);
        END IF;
        -- Not as a part of the text: the log has the texts of statements that fail, and payers are in the values.
        PERFORM set_config('card_payments.v', own_values::text, true);
        EXECUTE format('EXECUTE %I (current_setting(''card_payments.v'')::text[])', plan) INTO derived;
        derived_by_all := derived_by_all + derived;
    END LOOP;
    RETURN derived_by_all;
END
$function$;
SELECT create_distributed_function(
    'write_unit(uuid, text, bigint[], integer[], text[], integer[], text[])', 'account', colocate_with => 'accounts'
);
