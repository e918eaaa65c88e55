/**
 * Calls `onClosed` when the reader of standard output or standard error closes it, as `| head` does. Without a listener
 * the process would end with a stack trace.
 */
export function onClosedOutput(onClosed: () => void): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      onClosed();
    });
}
