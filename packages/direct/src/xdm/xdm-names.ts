/** Where a package has its submission sets, and what describes each. */
export const XDM_FOLDER = 'IHE_XDM';
export const METADATA_FILE = 'METADATA.XML';

/** Begins the subject of a mail that has a package (ITI TF-2 3.32.4.1.4). */
export const XDM_SUBJECT = 'XDM/1.0/DDM';
