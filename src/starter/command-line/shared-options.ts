import type { Command } from 'commander';
import { parseSeconds } from '../input/arguments.ts';

/** Options of every command. */
export const withStarterOptions = (command: Command): Command =>
  command
    .option(
      '--data-dir <folder>',
      'data folder of the running stack (default: DATA_DIR, else .data)',
    )
    .option('--base-url <url>', 'exchange to use instead of the running stack')
    .option(
      '--api-key <key>',
      'API key of that exchange; prefer API_KEY or API_KEY_FILE, which other users of this machine cannot see',
    )
    .option('--facility <id>', 'id of the facility to act for')
    .option(
      '--json',
      'one JSON document as the last line of stdout; progress goes to stderr',
    );

/** Options of commands that follow work. */
export const withFollowing = (command: Command): Command =>
  command
    .option('--wait', 'follow the work until it ends (the default)', true)
    .option('--no-wait', 'return as soon as the work has started')
    .option(
      '--timeout <seconds>',
      'stop following after this time; the work continues',
      parseSeconds,
    );
