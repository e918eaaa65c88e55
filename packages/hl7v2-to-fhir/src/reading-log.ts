/** A part of a line of a message; what is left out stands for all of it. */
export interface ReadPart {
  /** Counts from 0. */
  line: number;
  field: number;
  /** Counts from 0. */
  repetition?: number;
  component?: number;
  subcomponent?: number;
}

/**
 * What of one message was read, and what was put right in reading it. Whatever
 * is on no list here was not used, and is counted.
 */
export class ReadingLog {
  /** Fields (`PID-3`) of which something was read in any line. */
  readonly fields = new Set<string>();
  readonly #parts = new Set<string>();
  readonly #remarks = new Set<string>();

  note(name: string, part: ReadPart): void {
    this.fields.add(`${name}-${part.field}`);
    this.#parts.add(partKey(part));
  }

  /** @param what happened to the field, as `repaired`; never a value */
  remark(place: string, what: string): void {
    this.#remarks.add(`${place} ${what}`);
  }

  /** `OBX-6 repaired`, sorted. */
  get remarks(): string[] {
    return [...this.#remarks].sort();
  }

  hasRead({ line, field, ...inner }: Required<ReadPart>): boolean {
    const { repetition, component } = inner;
    return [
      { line, field },
      { line, field, repetition, component },
      { line, field, ...inner },
    ].some((part) => this.#parts.has(partKey(part)));
  }
}

const partKey = (part: ReadPart): string => {
  const { line, field, repetition, component, subcomponent } = part;
  return [line, field, repetition, component, subcomponent].join(' ');
};
