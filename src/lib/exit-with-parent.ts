/** What a child tells the process that started it once it serves; `info` is for example its address. */
export interface ReadyMessage {
  type: 'ready';
  info: Record<string, unknown>;
}

/** A child that hangs in its own shutdown must not outlive its parent for ever. */
const LAST_MOMENT_MS = 20_000;

/**
 * Ends this process when the process that started it is gone, however it went (kill -9 included): the closing IPC
 * channel raises SIGTERM here, so the entry point's own graceful shutdown runs. Without a parent that opened an
 * IPC channel (started by hand, in a container) it does nothing.
 */
export function exitWithParent(): void {
  if (process.send === undefined) return;
  process.once('disconnect', () => {
    setTimeout(() => process.exit(1), LAST_MOMENT_MS).unref();
    process.kill(process.pid, 'SIGTERM');
  });
  // Listening must not keep a process alive that has nothing else to do.
  process.channel?.unref();
}

/** Tells the parent that this process serves now. Does nothing without a parent. */
export function reportReady(info: Record<string, unknown> = {}): void {
  const message: ReadyMessage = { type: 'ready', info };
  if (process.connected) process.send?.(message);
}
