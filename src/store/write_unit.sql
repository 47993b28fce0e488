-- Runs one statement of an account on the worker that holds it, to which the coordinator delegates the call. The worker's planner
-- would take the statement apart as the coordinator's does, so its text gets the names of the shards. Its values are v, as text.
CREATE OR REPLACE FUNCTION write_unit(account uuid, statement text, v text[]) RETURNS bigint LANGUAGE plpgsql
SET search_path FROM CURRENT SET lock_timeout = '5s' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $function$
DECLARE
    plans_max CONSTANT integer := 200;
    shard bigint := get_shard_id_for_distribution_column('accounts', account);
    plan text := format('unit_%s_%s', shard, md5(statement));
    is_kept boolean := cardinality(v) <= 256;
    part record;
    derived bigint;
BEGIN
    -- 5 is SHARE, the lock of each statement that writes to a shard. Moving or splitting the shard waits for this transaction, and
    -- this one for that; afterwards the account may lie elsewhere.
    PERFORM lock_shard_metadata(5, ARRAY[shard]);
    IF NOT EXISTS (SELECT FROM pg_dist_placement JOIN pg_dist_local_group USING (groupid) WHERE shardid = shard) THEN
        RAISE EXCEPTION 'the account lies on another node' USING ERRCODE = 'CP001';
    END IF;
    IF is_kept AND current_setting('card_payments.' || plan, true) = 'kept' THEN
        EXECUTE format('EXECUTE %I (%L)', plan, v) INTO derived;
        RETURN derived;
    END IF;
    FOR part IN
        SELECT own.logicalrelid AS relation, shard_name(own.logicalrelid, own.shardid) AS shard
        FROM pg_dist_shard a JOIN pg_dist_shard own USING (shardminvalue)
        JOIN pg_dist_partition p ON p.logicalrelid = own.logicalrelid
        WHERE a.shardid = shard
        AND p.colocationid = (SELECT colocationid FROM pg_dist_partition WHERE logicalrelid = a.logicalrelid)
    LOOP
        statement := regexp_replace(
            statement, format('\m(INTO|UPDATE|FROM|JOIN) "?%s\M"? AS ', part.relation), format('\1 %s AS ', part.shard), 'g'
        );
        statement := regexp_replace(
            statement, format('\m(INTO|UPDATE|FROM|JOIN) "?%s\M"?', part.relation),
            format('\1 %s AS %s', part.shard, part.relation), 'g'
        );
    END LOOP;
    IF NOT is_kept THEN
        EXECUTE statement INTO derived USING v;
        RETURN derived;
    END IF;
    -- A session keeps its newest plans. A rollback undoes the settings, but neither PREPARE nor DEALLOCATE: so a plan's setting goes
    -- first, and the plan when a later transaction finds it without.
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
    EXECUTE format('PREPARE %I (text[]) AS %s', plan, statement);
    PERFORM set_config('card_payments.' || plan, 'kept', false);
    EXECUTE format('EXECUTE %I (%L)', plan, v) INTO derived;
    RETURN derived;
END
$function$;
SELECT create_distributed_function('write_unit(uuid, text, text[])', 'account', colocate_with => 'accounts');
