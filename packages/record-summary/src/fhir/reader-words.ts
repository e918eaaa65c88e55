// How codes are said to a reader; other codes are shown as they are.

type Words = Readonly<Record<string, string>>;

/** Flags of a value that the reader must not miss. */
export const ABNORMAL_FLAGS: Words = {
  H: 'High',
  HH: 'Critically high',
  HU: 'Significantly high',
  '>': 'Above scale',
  L: 'Low',
  LL: 'Critically low',
  LU: 'Significantly low',
  '<': 'Below scale',
  A: 'Abnormal',
  AA: 'Critically abnormal',
  POS: 'Positive',
  DET: 'Detected',
  R: 'Resistant',
  I: 'Intermediate',
};

/** Flags of a value as it should be. */
export const NORMAL_FLAGS: Words = {
  N: 'Normal',
  NEG: 'Negative',
  ND: 'Not detected',
  S: 'Susceptible',
};

/** Units of UCUM as people write them. */
export const UNIT_NAMES: Words = {
  'mm[Hg]': 'mmHg',
  Cel: '°C',
  '[degF]': '°F',
  '[in_i]': 'in',
  '[lb_av]': 'lb',
  '[iU]/L': 'IU/L',
  'kg/m2': 'kg/m²',
  '10*3/uL': '10^3/µL',
  '10*6/uL': '10^6/µL',
  d: 'days',
  wk: 'weeks',
  mo: 'months',
  a: 'years',
};

/** Classes of encounters (v3 ActCode). */
export const ENCOUNTER_CLASSES: Words = {
  AMB: 'Ambulatory',
  EMER: 'Emergency',
  IMP: 'Inpatient',
  ACUTE: 'Inpatient, acute',
  NONAC: 'Inpatient, not acute',
  OBSENC: 'Observation',
  SS: 'Short stay',
  HH: 'Home health',
  VR: 'Virtual',
  FLD: 'Field',
};

/** Formats of documents. */
export const FORMAT_NAMES: Words = {
  'text/plain': 'Text',
  'text/html': 'HTML',
  'application/pdf': 'PDF',
  'application/xml': 'XML',
  'text/xml': 'XML',
};

/**
 * The NCI Thesaurus (the FDA's list) and v3 RouteOfAdministration, which
 * sources send without a name.
 */
export const ROUTE_NAMES: Words = {
  C28161: 'intramuscular',
  C38192: 'into the ear',
  C38216: 'by inhalation',
  C38276: 'intravenous',
  C38284: 'into the nose',
  C38287: 'into the eye',
  C38288: 'by mouth',
  C38295: 'rectal',
  C38299: 'subcutaneous',
  C38300: 'under the tongue',
  C38304: 'on the skin',
  C38305: 'through the skin',
  C38313: 'vaginal',
  IM: 'intramuscular',
  IV: 'intravenous',
  PO: 'by mouth',
  SC: 'subcutaneous',
  SQ: 'subcutaneous',
};

/** GTSAbbreviation. */
export const TIMING_NAMES: Words = {
  AM: 'every morning',
  BED: 'at bedtime',
  BID: 'twice a day',
  HS: 'at bedtime',
  PM: 'every afternoon',
  Q1H: 'every hour',
  Q2H: 'every 2 hours',
  Q3H: 'every 3 hours',
  Q4H: 'every 4 hours',
  Q6H: 'every 6 hours',
  Q8H: 'every 8 hours',
  QD: 'once a day',
  QID: '4 times a day',
  QOD: 'every other day',
  TID: '3 times a day',
};

/** UCUM units of `Timing`. */
export const PERIOD_NAMES: Words = {
  s: 'second',
  min: 'minute',
  h: 'hour',
  d: 'day',
  wk: 'week',
  mo: 'month',
  a: 'year',
};

/** DaysOfWeek. */
export const WEEKDAY_NAMES: Words = {
  mon: 'Monday',
  tue: 'Tuesday',
  wed: 'Wednesday',
  thu: 'Thursday',
  fri: 'Friday',
  sat: 'Saturday',
  sun: 'Sunday',
};

/** EventTiming. */
export const MOMENT_NAMES: Words = {
  AC: 'before meals',
  ACD: 'before lunch',
  ACM: 'before breakfast',
  ACV: 'before dinner',
  AFT: 'in the afternoon',
  C: 'with meals',
  CD: 'with lunch',
  CM: 'with breakfast',
  CV: 'with dinner',
  EVE: 'in the evening',
  HS: 'at bedtime',
  MORN: 'in the morning',
  NIGHT: 'at night',
  NOON: 'at noon',
  PC: 'after meals',
  WAKE: 'after waking',
};
