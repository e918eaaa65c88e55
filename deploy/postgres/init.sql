-- Run once by psql, when the database folder is empty. Creates a role and a database for the exchange, and a role and
-- databases for Temporal; neither role can read the other's databases. Passwords come from the secret files.
\set exchange_password `cat /run/secrets/exchange-db-password`
\set temporal_password `cat /run/secrets/temporal-db-password`

-- The roles of row-level security, created here so that our own login does not need the right to create roles.
CREATE ROLE exchange_app NOLOGIN;
CREATE ROLE exchange_system NOLOGIN;
CREATE ROLE exchange LOGIN PASSWORD :'exchange_password';
GRANT exchange_app, exchange_system TO exchange;
CREATE DATABASE exchange OWNER exchange;
REVOKE CONNECT ON DATABASE exchange FROM PUBLIC;

CREATE ROLE temporal LOGIN PASSWORD :'temporal_password';
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
REVOKE CONNECT ON DATABASE temporal, temporal_visibility FROM PUBLIC;
