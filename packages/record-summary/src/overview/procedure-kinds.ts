import { isJson, type Json, objectsOf, textOf } from '../fhir/json.ts';
import { conceptNames } from './problem-importance.ts';

interface ProcedureKind {
  for: string;
  /** CPT, from and to. */
  cpt: readonly (readonly [from: number, to: number])[];
  icd10pcs: RegExp;
  /** For codes of other systems, whose names tell. */
  words: RegExp;
}

/** Procedures that a clinician must know of, the most important kind first. */
const KINDS = [
  {
    for: 'heart, vessels, brain and transplants',
    cpt: [
      [33016, 37799],
      [61000, 62258],
      [92920, 92998],
    ],
    icd10pcs: /^0(?:[0-4]|[BFT]Y)/,
    words:
      /coronary (?!angiogra)|percutaneous transluminal|angioplast|\bstents?\b|bypass|pacemaker|defibrillator|(?:heart|cardiac) (?:surgery|ablation)|valve (?:replacement|repair)|transplant|endarterectomy|craniot|thrombectomy|aneurysm|ventricular assist|resuscitation/i,
  },
  {
    for: 'operations and births',
    cpt: [
      [19300, 19307],
      [21000, 32999],
      [38000, 60699],
      [62263, 64999],
    ],
    icd10pcs: /^[01]/,
    words:
      /\w(?:ectomy|ostomy|otomy|plasty|pexy|desis)\b|resection|amputation|(?:hip|knee|shoulder|joint) (?:replacement|prosthe)|replacement of (?:the )?(?:\w+ )?(?:hip|knee|shoulder|joint)|repair of|reduction of fracture|fixation|c[ae]?esarean|childbirth|delivery|termination of pregnancy|steriliz|ligation|bariatric|implant|excision|surgery\b|operation\b|graft/i,
  },
  {
    for: 'treatments of grave disease',
    cpt: [
      [77261, 77799],
      [90935, 90999],
      [96401, 96549],
    ],
    icd10pcs: /^(?:5A1|D|302)/,
    words:
      /chemotherap|radi(?:ation|o)[ -]?therap|dialysis|ventilation|intubation|transfusion|hospice|palliative|plasmapheresis|electroconvulsive/i,
  },
  {
    for: 'looks and samples from inside',
    cpt: [
      [43200, 43278],
      [45300, 45398],
      [93451, 93581],
    ],
    icd10pcs: /^(?:4A02|B2)/,
    words:
      /cathet(?:er)?i[sz]ation|angiogra|(?:colono|gastro|broncho|cysto|arthro|sigmoido|laparo|endo)scopy|biopsy|thoracentesis|paracentesis|lumbar puncture|intrauterine/i,
  },
] satisfies readonly ProcedureKind[];

/** Of the mouth, and what only speaks of an operation. */
const MINOR =
  /dental|tooth|teeth|gingiv|denture|\boral\b|filling|palatin|periodont|screening|assessment|education|counsel|referral|history|planning|postoperative|post anesthesia/i;

const ALL: readonly ProcedureKind[] = KINDS;
const CPT = /\bcpt\b|113883\.6\.12$/i;
const ICD10_PCS = /icd-?10(?:-pcs)?$|113883\.6\.4$/i;

/** Which kind of major procedure it is, the least first; undefined if none. */
export function kindOfProcedure({ code }: Json): number | undefined {
  const names = conceptNames(code);
  if (names.some((name) => MINOR.test(name))) return undefined;

  const codings = isJson(code) ? objectsOf(code.coding) : [];
  const codesIn = (system: RegExp): string[] =>
    codings.flatMap((coding) =>
      system.test(String(coding.system)) ? (textOf(coding.code) ?? []) : [],
    );
  const cpt = codesIn(CPT).map(Number);
  const pcs = codesIn(ICD10_PCS);
  const kind = ALL.findIndex(
    (each) =>
      names.some((name) => each.words.test(name)) ||
      pcs.some((own) => each.icd10pcs.test(own)) ||
      cpt.some((own) =>
        each.cpt.some(([from, to]) => from <= own && own <= to),
      ),
  );
  return kind === -1 ? undefined : kind;
}
