/**
 * As AbortSignal.timeout, for use with AbortSignal.any: Node.js 20 collects a timeout that nothing but `any` refers to as
 * garbage, and then it is never raised. Whoever keeps the signal in a variable that is still used needs none of this.
 */
export function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController();
  const raise = () => controller.abort(new DOMException('The time is over', 'TimeoutError'));
  // The timer refers to the signal, and keeps no process alive.
  setTimeout(raise, ms).unref();
  return controller.signal;
}
