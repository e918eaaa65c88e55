/** A bounded map whose entries are forgotten after a while; the oldest give way when it is full. */
export class ExpiringCache<V> {
  readonly #entries = new Map<string, { value: V; expiresAt: number }>();

  constructor(private readonly options: { ttlMs: number; entriesMax: number; now?: () => number }) {}

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expiresAt > this.#now()) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, expiresAt: this.#now() + this.options.ttlMs });
    if (this.#entries.size <= this.options.entriesMax) return;
    const oldest = this.#entries.keys().next();
    if (oldest.done !== true) this.#entries.delete(oldest.value);
  }

  #now(): number {
    return (this.options.now ?? Date.now)();
  }
}
