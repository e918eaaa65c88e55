import { agrees, canTakeIn } from './assertions.ts';
import type { DeliveryFacts } from './delivery-facts.ts';

/** The part of a delivery's facts that grouping needs. */
export type Groupable = Pick<
  DeliveryFacts,
  'resourceType' | 'source' | 'sourceId' | 'keys' | 'rank' | 'assertions'
>;

/** A growing set of deliveries that describe the same thing. */
export class Cluster<F extends Groupable> {
  readonly leader: F;
  readonly members: F[];
  /** Earlier versions, of which nothing counts any more. */
  readonly superseded: F[] = [];
  /** Prefixed with the resource type, so that different types never share a key. */
  readonly keys: Set<string>;
  /** The assertions of all members, by name. */
  private readonly assertions: Map<string, Set<string>>;
  private name: string;

  constructor(delivery: F) {
    this.leader = delivery;
    this.members = [delivery];
    this.keys = new Set(delivery.keys.map((key) => `${delivery.resourceType} ${key}`));
    this.assertions = new Map(
      Object.entries(delivery.assertions).map(([name, text]) => [name, new Set([text])]),
    );
    this.name = `${delivery.source} ${delivery.sourceId}`;
  }

  /** Whether no assertion of the other cluster contradicts one of this cluster, and the leader can take in all its members. */
  accepts(other: Cluster<F>): boolean {
    for (const [name, texts] of other.assertions) {
      // `canTakeIn` compares the status with the leader's only; elements with parts are taken from the leader as a whole.
      if (
        name === 'status' ||
        name.startsWith('@') ||
        (name.startsWith('*') && name in this.leader.assertions)
      )
        continue;
      for (const text of texts)
        for (const known of this.assertions.get(name) ?? []) if (!agrees(name, known, text)) return false;
    }
    return other.members.every(({ assertions }) => canTakeIn(this.leader.assertions, assertions));
  }

  absorb(other: Cluster<F>): void {
    this.members.push(...other.members);
    for (const key of other.keys) this.keys.add(key);
    for (const [name, texts] of other.assertions) {
      const known = this.assertions.get(name);
      if (known === undefined) this.assertions.set(name, texts);
      else for (const text of texts) known.add(text);
    }
    if (other.name < this.name) this.name = other.name;
  }

  /** Adds an earlier version of its statement. */
  supersede(older: F): void {
    this.superseded.push(older);
    for (const key of older.keys) this.keys.add(`${older.resourceType} ${key}`);
  }

  /** The first of its members' names in text order; it does not depend on which member leads. */
  smallestName(): string {
    return this.name;
  }

  sortedKeys(): string[] {
    return [...this.keys].sort();
  }
}
