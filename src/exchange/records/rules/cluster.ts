import type { Facts } from './facts.ts';
import { agrees, takesIn } from './told.ts';

/** What grouping needs to know of a delivery. */
export type Groupable = Pick<Facts, 'resourceType' | 'source' | 'sourceId' | 'keys' | 'rank' | 'told'>;

/** Deliveries that are one thing, as it grows. */
export class Cluster<F extends Groupable> {
  readonly leader: F;
  readonly members: F[];
  /** With their type before them, so that no two types meet. */
  readonly keys: Set<string>;
  /** All that any member tells, by name. */
  private readonly told: Map<string, Set<string>>;
  private name: string;

  constructor(delivery: F) {
    this.leader = delivery;
    this.members = [delivery];
    this.keys = new Set(delivery.keys.map((key) => `${delivery.resourceType} ${key}`));
    this.told = new Map(Object.entries(delivery.told).map(([name, text]) => [name, new Set([text])]));
    this.name = `${delivery.source} ${delivery.sourceId}`;
  }

  /** Whether nothing of what the other's members tell contradicts what any member here does. */
  letsIn(other: Cluster<F>): boolean {
    for (const [name, texts] of other.told) {
      // How far a thing has come is between it and the leader; of an element's parts the leader has all or none.
      if (name === 'status' || (name.startsWith('*') && name in this.leader.told)) continue;
      for (const text of texts)
        for (const known of this.told.get(name) ?? []) if (!agrees(name, known, text)) return false;
    }
    return other.members.every(({ told }) => takesIn(this.leader.told, told));
  }

  absorb(other: Cluster<F>): void {
    this.members.push(...other.members);
    for (const key of other.keys) this.keys.add(key);
    for (const [name, texts] of other.told) {
      const known = this.told.get(name);
      if (known === undefined) this.told.set(name, texts);
      else for (const text of texts) known.add(text);
    }
    if (other.name < this.name) this.name = other.name;
  }

  /** Of its members' names the first in text order: it stays, whoever leads. */
  smallestName(): string {
    return this.name;
  }

  sortedKeys(): string[] {
    return [...this.keys].sort();
  }
}
