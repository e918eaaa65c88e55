import { codeTable } from '../fhir/code-table.ts';

/** From which value on a score is high, or up to which if low means danger. */
export interface ScoreRule {
  name: string;
  from?: number;
  upTo?: number;
  /** The highest possible value. */
  of?: number;
}

/**
 * Scores by LOINC code, with the limit of those who published them, from which
 * on somebody has to act.
 */
export const RISK_SCORES: Readonly<Record<string, ScoreRule>> = codeTable({
  // Depression, Kroenke 2001 and 2003: moderate; positive screening.
  '44261-6': { name: 'PHQ-9', from: 10, of: 27 },
  '55758-7': { name: 'PHQ-2', from: 3, of: 6 },
  '89204-2': { name: 'PHQ-9 for teens', from: 10, of: 27 },
  // Depression after birth, Cox 1987; in age, Sheikh 1986.
  '99046-5': { name: 'EPDS', from: 13, of: 30 },
  '48544-1': { name: 'GDS-15', from: 5, of: 15 },
  // Anxiety, Spitzer 2006: moderate.
  '70274-6': { name: 'GAD-7', from: 10, of: 21 },
  '69737-5': { name: 'GAD-7', from: 10, of: 21 },
  // Alcohol, Bush 1998 and Saunders 1993; drugs, Skinner 1982.
  '75626-2': { name: 'AUDIT-C', from: 4, of: 12 },
  '75624-7': { name: 'AUDIT', from: 8, of: 40 },
  '82667-7': { name: 'DAST-10', from: 3, of: 10 },
  // Violence by a partner, Sohal 2007.
  '76504-0': { name: 'HARK', from: 1, of: 4 },
  // Falls, Morse 1989; pressure ulcers, Braden 1987.
  '59460-6': { name: 'Morse Fall Scale', from: 45, of: 125 },
  '38227-5': { name: 'Braden scale', upTo: 12, of: 23 },
  // Consciousness, Teasdale 1974; cognition, Folstein 1975 and Nasreddine 2005.
  '9269-2': { name: 'Glasgow coma scale', upTo: 13, of: 15 },
  '72106-8': { name: 'MMSE', upTo: 23, of: 30 },
  '72172-0': { name: 'MoCA', upTo: 25, of: 30 },
  // Stroke in atrial fibrillation, Lip 2010; ten years of heart disease, ACC/AHA 2013.
  '75992-8': { name: 'CHA2DS2-VASc', from: 2, of: 9 },
  '79423-0': { name: 'ASCVD 10-year risk', from: 7.5 },
});
