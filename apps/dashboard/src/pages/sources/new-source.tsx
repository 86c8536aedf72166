import type { SourceKindView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import { useApi } from "../../api/api-context.js";
import { addresses } from "../../routing/addresses.js";
import { SelectField, TextField } from "../../ui/controls/field.js";
import { Failure } from "../../ui/feedback.js";
import { Dialog } from "../../ui/layout/dialog.js";
import { DialogActions } from "../../ui/layout/dialog-actions.js";
import { SOURCE_KINDS } from "./source-kinds.js";

export function NewSource({ open, onClose }: { open: boolean; onClose: () => void }) {
  const api = useApi();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [name, setName] = useState("");
  const [kind, setKind] = useState<SourceKindView>("server");
  const create = useMutation({
    mutationFn: () => api.sources.create({ name: name.trim(), kind }),
    onSuccess: async (source) => {
      await queries.invalidateQueries({ queryKey: ["sources"] });
      onClose();
      navigate(addresses.source(source.id));
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== "") create.mutate();
  };
  return (
    <Dialog open={open} onClose={onClose} title="New source">
      <form className="stack" onSubmit={submit}>
        <TextField
          label="Name"
          placeholder="Web shop"
          required
          maxLength={100}
          error={name !== "" && name.trim() === "" ? "Enter a name." : undefined}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <SelectField
          label="Kind"
          hint={SOURCE_KINDS[kind].hint}
          value={kind}
          onChange={(event) => setKind(event.target.value as SourceKindView)}
          options={Object.entries(SOURCE_KINDS).map(([value, words]) => [value, words.label])}
        />
        {create.isError && <Failure error={create.error} />}
        <DialogActions busy={create.isPending} onCancel={onClose}>
          Create source
        </DialogActions>
      </form>
    </Dialog>
  );
}
