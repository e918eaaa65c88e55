/** A chart, drawn; each renderer only puts its shapes on paper. The table of the same section has every value. */
export interface Chart {
  /** What was measured, and its unit. */
  title: string;
  /** The last value and the period. */
  detail: string;
  /** What the drawing shows, for readers who cannot see it. */
  description: string;
  drawing: Drawing;
}

/** Shapes in a box of `WIDTH` by `HEIGHT` units, y pointing down. */
export interface Drawing {
  width: number;
  height: number;
  shapes: readonly Shape[];
}

export type Shape =
  /** The reference range. */
  | { kind: 'band'; x: number; y: number; width: number; height: number }
  | { kind: 'grid' | 'line' | 'second'; points: readonly Place[] }
  /** A value: a diamond if it is abnormal. */
  | { kind: 'dot' | 'ring' | 'diamond'; at: Place; text: string }
  | { kind: 'label'; at: Place; text: string; align: 'start' | 'end' };

export type Place = readonly [x: number, y: number];
