import type { DocumentReferenceRelatesTo, FhirResource } from 'fhir/r4.js';
import type { AnyResourceMapping, ResourceMapping } from './element-mapping.ts';
import type { FieldPlace, SegmentName } from './field-places.ts';

/**
 * How one kind of message is read; each main segment, with the others around
 * it, is one resource.
 */
export interface MessageMapping<Resource extends FhirResource>
  extends ResourceMapping<Resource>,
    MessageShape {}

/** A mapping to any resource, as it is interpreted. */
export interface AnyMessageMapping extends AnyResourceMapping, MessageShape {}

interface MessageShape {
  main: SegmentName;
  segments: readonly SegmentName[];
  what: string;
  /**
   * Where the sender's number of it stands; with `andCode`, one number may
   * stand for several things.
   */
  number: readonly FieldPlace[];
  /**
   * What stands for a number that is not sent, among those of one person
   * (PID-3): many persons are vaccinated on one day.
   */
  numberOfPerson?: FieldPlace;
  andCode?: FieldPlace;
  /**
   * Values that say that there is none: of the main code, the whole resource is
   * left out.
   */
  leftOut?: Readonly<Partial<Record<FieldPlace, readonly string[]>>>;
  /** Results and fills name it by its numbers. */
  isOrder?: true;
  /** Without this segment, a message changes only the status. */
  statusOnlyWithout?: SegmentName;
  replaces?: {
    /** The number of the other. */
    number: FieldPlace;
    /** By event (MSH-9.2). */
    events: Readonly<
      Record<
        string,
        Extract<DocumentReferenceRelatesTo['code'], 'appends' | 'replaces'>
      >
    >;
  };
}
