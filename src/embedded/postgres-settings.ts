/**
 * Settings of the embedded server, for a few cores and a few hundred megabytes of memory. Durability keeps PostgreSQL's
 * defaults (fsync and synchronous_commit on).
 */
export const POSTGRES_SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  // A socket path may have at most 107 bytes, which a deeply nested data folder exceeds.
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '256MB',
  work_mem: '8MB',
  maintenance_work_mem: '64MB',
  max_wal_size: '1GB',
  random_page_cost: '1.1',
  // Compiling costs more than it gains on short statements.
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  logging_collector: 'off',
  log_line_prefix: '%m [%p] ',
  log_checkpoints: 'off',
  // Statements, parameters and the DETAIL of an error may contain personal data, which must not be logged.
  log_statement: 'none',
  log_min_error_statement: 'panic',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
  log_error_verbosity: 'terse',
  // An error message itself may quote a value (`invalid input syntax for type date: "…"`). The client receives the error
  // and logs its code; the server logs only messages about itself (LOG, FATAL, PANIC).
  log_min_messages: 'log',
};

export const settingArguments = (settings: Readonly<Record<string, string>>): string[] =>
  Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
