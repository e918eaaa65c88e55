import { anySignal } from '../../lib/abort-signals.ts';
import {
  type Env,
  openTarget,
  type Target,
  type TargetOptions,
} from '../target/target.ts';
import type { CommandResult, Terminal } from '../terminal.ts';

/** Options that every command takes. */
export interface StarterCommandOptions extends TargetOptions {
  json?: boolean;
}

/** Options of commands that follow what they start. */
export interface FollowingOptions extends StarterCommandOptions {
  wait: boolean;
  timeout?: number;
}

/** What every command receives. */
export interface CommandContext {
  terminal: Terminal;
  target: Target;
  env?: Env;
}

/**
 * A command: gets its arguments and options, and what every command receives.
 */
export type StarterCommand<Args extends readonly unknown[]> = (
  ...args: [...Args, CommandContext]
) => Promise<CommandResult>;

/**
 * Opens the exchange that the options name, runs a command on it, and closes
 * everything again.
 */
export async function withTarget<R>(
  options: TargetOptions,
  { terminal, env }: { terminal: Terminal; env?: Env },
  run: (context: CommandContext) => Promise<R>,
): Promise<R> {
  const target = await openTarget(options, env);
  try {
    return await run({ terminal, target, env });
  } finally {
    terminal.live.close();
    await target.close();
  }
}

/** A signal that is aborted by Ctrl-C, or after `timeout` seconds. */
export const endOfFollowing = (
  { interrupted }: Terminal,
  { timeout }: { timeout?: number },
): AbortSignal =>
  timeout === undefined
    ? interrupted
    : anySignal([interrupted, AbortSignal.timeout(timeout * 1_000)]);
