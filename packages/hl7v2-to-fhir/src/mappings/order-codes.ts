import { asCodeOf, asCodingIn } from '../element-readers.ts';

/** HL7 table 0485 (TQ1-9, ORC-7.6). */
export const asPriority = asCodeOf({
  S: 'stat',
  A: 'asap',
  R: 'routine',
  P: undefined,
  C: undefined,
  T: undefined,
});

/** HL7 tables 0119 (ORC-1) and 0038 (ORC-5), of an order of medication. */
export const asMedicationOrderStatus = asCodeOf(
  {
    CA: 'cancelled',
    OC: 'cancelled',
    CR: 'cancelled',
    DC: 'stopped',
    OD: 'stopped',
    DR: 'stopped',
    RQ: 'stopped',
    RU: 'stopped',
    HD: 'on-hold',
    OH: 'on-hold',
    HR: 'on-hold',
    CM: 'completed',
  },
  'active',
);

/** HL7 table 0177 (ORC-28). */
export const asConfidentiality = asCodingIn(
  'http://terminology.hl7.org/CodeSystem/v2-0177',
);
