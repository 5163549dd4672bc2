"""The schema as numbered migrations: number n takes a database from version n - 1 to n.

Never change a released migration; add another.
"""

Statements = tuple[str, ...]

_CREATE_TABLES: Statements = (
    "create table counter (value integer not null)",
    "insert into counter values (0)",
    "create table facts (name text primary key, value text not null)",
    "insert into facts values ('catalog_id', lower(hex(randomblob(16))))",
    """create table skills (
        key integer primary key,
        id text not null unique,
        sequence integer not null,
        enabled integer not null,
        advertised integer not null,
        source text not null,
        folder text unique,
        fingerprint text,
        detail text not null,
        created_at text not null,
        updated_at text not null
    )""",
    "create index skills_in_order on skills (advertised, sequence)",
    """create table versions (
        key integer not null references skills (key) on delete cascade,
        version text not null,
        major integer not null, minor integer not null, patch integer not null,
        description text not null,
        changes text not null,
        created_at text not null,
        primary key (key, version)
    )""",
    """create table documents (
        key integer primary key autoincrement,
        id text not null unique,
        gone integer not null,
        number integer not null,
        text_hash text not null,
        card text not null,
        labels text not null,
        name text not null,
        description text not null,
        tags text not null,
        capabilities text not null
    )""",
    # A table of its own: a row with a long text is slow to read even if only its card is needed.
    "create table bodies (key integer primary key references documents (key), body text not null)",
    "create unique index documents_by_number on documents (number)",
    "create index documents_gone on documents (number) where gone = 1",
    """create table vectors (
        space text not null,
        key integer not null,
        text_hash text not null,
        vector blob not null,
        number integer not null,
        primary key (space, key)
    )""",
    "create index vectors_forgotten on vectors (key) where text_hash = ''",
    "create unique index vectors_by_number on vectors (space, number)",
    "create table sources (name text primary key, entry text not null)",
    """create table source_states (
        name text primary key,
        entry text not null,
        mark text not null,
        last_tried text not null,
        last_refreshed text,
        error text,
        warnings text not null
    )""",
    """create table advertised (
        key integer primary key references skills (key) on delete cascade,
        source text not null,
        id text not null,
        hash text not null,
        record text not null,
        unique (source, id)
    )""",
    # No reference to the skill's row: an install record is written before its folder exists.
    """create table installs (
        folder text primary key,
        source text,
        listed text,
        record text not null
    )""",
    "create index installs_by_source on installs (source, listed)",
    """create table scan_problems (path text primary key, reason text not null)""",
    """create table jobs (
        id text primary key,
        kind text not null,
        state text not null,
        progress text not null,
        created_at text not null
    )""",
    """create table users (
        name text primary key,
        role text not null,
        scope text not null,
        password_hash text not null,
        created_at text not null,
        updated_at text not null
    )""",
    """create table api_keys (
        id text primary key,
        name text not null,
        role text not null,
        scope text,
        secret_hash text not null,
        created_at text not null,
        last_used_at text,
        revoked_at text
    )""",
    "create table revoked_tokens (id text primary key, expires_at integer not null)",
    "create table ended_tokens (subject text primary key, until integer not null)",
    "create table rate_windows (key text primary key, made integer not null, ends_at real not null)",
    """create table publish_jobs (
        number integer primary key autoincrement,
        id text not null unique,
        state text not null,
        skill_id text not null,
        version text not null,
        checksum text not null,
        size integer not null,
        uploaded_at text not null,
        uploaded_by text not null,
        idempotency_key text,
        completed_at text,
        tries integer not null,
        next_try real not null,
        errors text not null,
        warnings text not null,
        index_number integer
    )""",
    "create unique index live_publishes on publish_jobs (skill_id, version) where state in ('pending', 'validating')",
    # With several machines, packages wait here for the one that takes their job.
    """create table spooled_packages (
        job_id text not null,
        part integer not null,
        data blob not null,
        primary key (job_id, part)
    )""",
    "create index publishes_by_caller on publish_jobs (uploaded_by, idempotency_key)",
    # Rows are never deleted: a yanked or revoked version cannot be published again.
    """create table published (
        skill_id text not null,
        skeleton text not null,
        version text not null,
        major integer not null, minor integer not null, patch integer not null,
        state text not null,
        checksum text not null,
        size integer not null,
        published_at text not null,
        record text not null,
        skill_file text not null,
        primary key (skill_id, version)
    )""",
    "create index published_names on published (skeleton)",
    "create table index_files (skill_id text primary key, wanted integer not null, pushed integer not null)",
    "create index unpushed_files on index_files (skill_id) where pushed < wanted",
    """create table audit (
        number integer primary key autoincrement,
        at text not null,
        request_id text not null,
        actor text not null,
        role text not null,
        client text not null,
        action text not null,
        target text not null,
        detail text not null
    )""",
    """create table deliveries (
        id text primary key,
        hook text not null,
        job_id text not null,
        event text not null,
        body text not null,
        state text not null,
        tries integer not null,
        next_try real not null,
        unique (job_id, hook)
    )""",
    "create index pending_deliveries on deliveries (next_try) where state = 'pending'",
    "create table log_entries (number integer primary key, entry text not null)",
    """create table log_nodes (
        level integer not null,
        position integer not null,
        hash blob not null,
        primary key (level, position)
    ) without rowid""",
)

_ADD_FOLDER_INDEX: Statements = (
    "create index skills_in_folders on skills (folder, fingerprint) where folder is not null",
)

# The unique index of folders is sufficient. Version 2 remains, since databases with it must still open.
_DROP_FOLDER_INDEX: Statements = ("drop index skills_in_folders",)

# The attempts at a job without a recorded end, and whether the job is set aside because of them.
_ADD_JOB_ATTEMPTS: Statements = (
    "alter table publish_jobs add column begun integer not null default 0",
    "alter table publish_jobs add column set_aside integer not null default 0",
)

# The version that an entry publishes, as `id@version`; null for other entries. The text of an entry ends with both.
# It is not parsed as JSON, so that a log with a damaged entry still opens.
_ADD_PUBLISHED_VERSION: Statements = (
    "alter table log_entries add column publishes text",
    'update log_entries set publishes = replace(replace(substr(entry, instr(entry, \'"skill_id":"\') + 12),'
    " '\",\"version\":\"', '@'), '\"}', '') where entry like '%\"kind\":\"publish\"%'",
    "create index log_entries_by_version on log_entries (publishes, number) where publishes is not null",
)

# What people chose for which query, and what search reads of it: the texts and weights of a document's examples.
_ADD_EXAMPLES: Statements = (
    "insert into facts values ('search_key', lower(hex(randomblob(16))))",
    """create table examples (
        key integer not null,
        query_hash text not null,
        caller text not null,
        query text not null,
        outcome text not null,
        at text not null,
        primary key (key, query_hash, caller)
    )""",
    "create index examples_by_caller on examples (caller)",
    "create index examples_by_time on examples (at)",
    "alter table documents add column examples text not null default '[]'",
    "create index documents_with_examples on documents (key) where examples <> '[]'",
)

COUNTED = (
    "select case enabled when 1 then 'enabled' else 'disabled' end as name, sequence / 1024 as block,"
    " count(*) as value from skills where advertised = 0 group by 1, 2"
    " union all select 'documents', 0, count(*) from documents where gone = 0 group by gone"
    " union all select 'vectors ' || space, 0, count(*) from vectors group by space"
    " union all select 'current ' || v.space, 0, count(*) from vectors v join documents d on d.key = v.key"
    " where d.gone = 0 and d.text_hash = v.text_hash group by v.space"
)
"""The query for the rows of `counts` as they must be (`registry.database.counts`). The migration below uses it too."""

# Counts that the writes keep, so that lists and the status need not read every skill; and two indexes for lists.
_ADD_COUNTS: Statements = (
    """create table counts (
        name text not null,
        block integer not null,
        value integer not null,
        primary key (name, block)
    )""",
    f"insert into counts (name, block, value) {COUNTED}",
    "create index skills_by_state on skills (advertised, enabled, sequence)",
    'create index skills_with_warnings on skills (id) where detail like \'%"warnings":["%\'',
)

# The names of a skill's files, one a line, which search reads. The changed fingerprints make the next scan read every
# folder again.
_ADD_FILE_NAMES: Statements = (
    "alter table bodies add column files text not null default ''",
    "update skills set fingerprint = replace(fingerprint, '-', '_') where folder is not null",
)

# What an entry withdraws or restores: a version as `id@version`, or a skill by its id; null for other entries. Entries
# of before are about versions, and their texts end with id and version.
_ADD_WITHDRAWALS: Statements = (
    "alter table log_entries add column withdraws text",
    'update log_entries set withdraws = replace(replace(substr(entry, instr(entry, \'"skill_id":"\') + 12),'
    " '\",\"version\":\"', '@'), '\"}', '') where entry like '%\"kind\":\"yank\"%'"
    ' or entry like \'%"kind":"unyank"%\' or entry like \'%"kind":"revoke"%\'',
    "create index log_entries_by_subject on log_entries (withdraws, number) where withdraws is not null",
    "create index log_withdrawals on log_entries (number) where withdraws is not null",
)

# A package that waits for a review: `held` is what a reviewer sees of it, and its version is reserved. The `publisher`
# is the account of who uploaded it, by whatever name, and may not review it.
_ADD_REVIEWS: Statements = (
    "alter table publish_jobs add column publisher text not null default ''",
    "alter table publish_jobs add column held_at text",
    "alter table publish_jobs add column held text",
    "alter table publish_jobs add column decision text",
    "drop index live_publishes",
    "create unique index live_publishes on publish_jobs (skill_id, version)"
    " where state in ('pending', 'validating', 'held')",
    "create index held_publishes on publish_jobs (number) where state = 'held'",
)

# When the files of a package without a log were first seen at a place, for `install.min_age`.
_ADD_SIGHTINGS: Statements = (
    """create table sightings (
        place text not null,
        digest text not null,
        at text not null,
        primary key (place, digest)
    )""",
)

_ADD_AUDIT_INDEXES: Statements = (
    "create index audit_by_time on audit (at)",
    "create index audit_by_actor on audit (actor, number)",
)

# The tokens that users make for themselves. `expires_at` is in seconds since 1970; `operations` and `skills` are JSON.
_ADD_USER_TOKENS: Statements = (
    """create table user_tokens (
        id text primary key,
        owner text not null,
        name text not null,
        operations text not null,
        skills text not null,
        role text not null,
        secret_hash text not null unique,
        created_at text not null,
        expires_at integer not null,
        last_used_at text
    )""",
    "create index user_tokens_by_owner on user_tokens (owner, created_at)",
)

# What a published version needs, as in its record, which may be a megabyte. And what each skill of the catalog needs: a
# skill of a registry by its id there, in the versions that a range admits.
_ADD_DEPENDENCIES: Statements = (
    "alter table published add column dependencies text not null default '[]'",
    """create table dependencies (
        key integer not null references skills (key) on delete cascade,
        needs text not null,
        admits text not null,
        primary key (key, needs)
    )""",
    "create index dependencies_by_need on dependencies (needs)",
)

# Workflows that publish without a secret, the identity tokens they have used, and the scopes that only they publish
# to. `claims` and `skills` are JSON; the run of a workflow is JSON in its job.
_ADD_TRUSTED_PUBLISHERS: Statements = (
    """create table trusted_publishers (
        id text primary key,
        name text not null,
        scope text not null,
        skills text not null,
        issuer text not null,
        claims text not null,
        created_at text not null,
        last_used_at text
    )""",
    "create index trusted_publishers_by_issuer on trusted_publishers (issuer)",
    "create table used_assertions (id text primary key, expires_at integer not null)",
    "create table trusted_scopes (name text primary key)",
    "alter table publish_jobs add column run text",
)

# How often skills were used, by day and in which way. `day` is in days since 1970.
_ADD_USES: Statements = (
    """create table uses (
        key integer not null references skills (key) on delete cascade,
        day integer not null,
        kind text not null,
        number integer not null,
        primary key (key, day, kind)
    )""",
    "create index uses_by_day on uses (day)",
)

# Users who sign in at an issuer of OpenID Connect: they have no password, and `subject` is their id there.
_ADD_ISSUERS_OF_USERS: Statements = (
    "alter table users add column issuer text",
    "alter table users add column subject text",
    "create unique index users_by_subject on users (issuer, subject)",
)

# Scopes that are registries of their own, and who sees them. The members of one that was closed stay.
_ADD_PRIVATE_SCOPES: Statements = (
    "create table private_scopes (name text primary key, created_at text not null)",
    """create table scope_members (
        scope text not null, user_name text not null, role text not null, since text not null,
        primary key (scope, user_name)
    )""",
)

MIGRATIONS: tuple[Statements, ...] = (
    _CREATE_TABLES,
    _ADD_FOLDER_INDEX,
    _DROP_FOLDER_INDEX,
    _ADD_JOB_ATTEMPTS,
    _ADD_PUBLISHED_VERSION,
    _ADD_EXAMPLES,
    _ADD_COUNTS,
    _ADD_FILE_NAMES,
    _ADD_WITHDRAWALS,
    _ADD_REVIEWS,
    _ADD_SIGHTINGS,
    _ADD_AUDIT_INDEXES,
    _ADD_USER_TOKENS,
    _ADD_DEPENDENCIES,
    _ADD_TRUSTED_PUBLISHERS,
    _ADD_USES,
    _ADD_ISSUERS_OF_USERS,
    _ADD_PRIVATE_SCOPES,
)
