import { flushCompileCache } from 'node:module';

/**
 * The message a child sends to its parent process once it is ready; `info`
 * contains, for example, its address.
 */
export interface ReadyMessage {
  type: 'ready';
  info: Record<string, unknown>;
}

/** After this time, a child whose own shutdown hangs is ended by force. */
const LAST_MOMENT_MS = 20_000;

/**
 * Ends this process when its parent process has ended, even by kill -9: when
 * the IPC channel closes, raises SIGTERM here, so that the graceful shutdown of
 * the entry point runs. Does nothing without an IPC channel, for example in a
 * container.
 */
export function exitWithParent({
  withinMs = LAST_MOMENT_MS,
}: {
  withinMs?: number;
} = {}): void {
  if (process.send === undefined) return;
  const end = () => {
    setTimeout(() => process.exit(1), withinMs).unref();
    process.kill(process.pid, 'SIGTERM');
  };
  // The parent may have ended while this process was still loading its modules.
  if (!process.connected) setImmediate(end);
  process.once('disconnect', end);
  // The open channel must not keep an otherwise idle process alive.
  process.channel?.unref();
}

/**
 * Notifies the parent process that this process is ready. Does nothing without
 * a parent, but to keep what Node.js has compiled (NODE_COMPILE_CACHE): a
 * process that is killed later no longer can.
 */
export function reportReady(info: Record<string, unknown> = {}): void {
  flushCompileCache();
  const message: ReadyMessage = { type: 'ready', info };
  // With a callback, a channel whose other end has just gone fails here only;
  // `disconnect` then ends this process.
  if (process.connected)
    process.send?.(message, undefined, undefined, () => undefined);
}
