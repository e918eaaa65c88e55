-- Run once by psql, when the database folder is empty. Creates logins and a database for the exchange, and a login and
-- databases for Temporal; neither can read the other's databases. Passwords come from the secret files.
\set exchange_password `cat /run/secrets/exchange-db-password`
\set service_password `cat /run/secrets/service-db-password`
\set admin_password `cat /run/secrets/admin-db-password`
\set temporal_password `cat /run/secrets/temporal-db-password`

-- Rights by task (docs/decisions/0079-roles-by-task.md), created here so that our own logins do not need the right to create
-- roles. The migrations grant them what they need.
CREATE ROLE exchange_app NOLOGIN;
CREATE ROLE exchange_system NOLOGIN;
CREATE ROLE exchange_admin NOLOGIN;
CREATE ROLE exchange_backup NOLOGIN;
CREATE ROLE exchange_responder NOLOGIN;
GRANT exchange_responder TO exchange_app WITH INHERIT FALSE, SET TRUE;
GRANT exchange_system TO exchange_admin;

-- Owns the schema, for `migrate` only.
CREATE ROLE exchange LOGIN PASSWORD :'exchange_password';
GRANT exchange_app, exchange_system, exchange_admin TO exchange;
-- Gateways and workers.
CREATE ROLE exchange_service LOGIN NOINHERIT PASSWORD :'service_password';
GRANT exchange_app, exchange_system TO exchange_service;
-- `admin` and `seed`.
CREATE ROLE exchange_operator LOGIN NOINHERIT PASSWORD :'admin_password';
GRANT exchange_app, exchange_admin TO exchange_operator;

CREATE DATABASE exchange OWNER exchange;
REVOKE CONNECT ON DATABASE exchange FROM PUBLIC;
GRANT CONNECT ON DATABASE exchange TO exchange_service, exchange_operator, exchange_backup;

CREATE ROLE temporal LOGIN PASSWORD :'temporal_password';
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
REVOKE CONNECT ON DATABASE temporal, temporal_visibility FROM PUBLIC;
