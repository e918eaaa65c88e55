/** Every function exported here is a workflow type; the name is the one in contract/temporal.ts. */
export {};
