/*
 * Coins as Python's objects on one side, and packed on the other (cdb/contract/packed.py): what a
 * look-up takes and gives, and what a block has. A module of its own and not cffi's, for it makes
 * objects.
 *
 *     coins = Coins(CoinInfo, Coin, bytes32)
 *     coins.joined([name, ...])       the names without gaps; None unless it is a list or tuple of
 *                                     bytes, or bytes32, of 32 bytes each: then somebody else says
 *                                     what is wrong with them
 *     coins.unpacked(infos, found)    a list of the CoinInfo that were found
 *     coins.packed(spends, confirms)  a block's names and coins in canonical order, packed; None
 *                                     unless they are lists of such names, and of Coins whose
 * fields are such names and an int that fits
 *
 * CoinInfo and Coin are frozen dataclasses with slots; their fields are set as their own __init__
 * sets them, but for the calls that this takes in Python.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { kNameBytes = 32, kAmountBytes = 8, kConfirmBytes = 2 * kNameBytes + kAmountBytes };

/* INFO_FORMAT of cdb/contract/packed.py. */
typedef struct {
  char parent[kNameBytes], puzzle_hash[kNameBytes];
  uint64_t amount;
  uint32_t confirmed, spent;
} Info;

/* A class with slots: how one is allocated, and each slot read and set. */
typedef struct {
  PyTypeObject *type;
  allocfunc allocate;
  PyObject *slots[3];
  descrgetfunc get[3];
  descrsetfunc set[3];
} Record;

typedef struct {
  PyObject_HEAD Record info, coin;
  PyTypeObject *name_type;
  newfunc new_bytes;
} Coins;

static int record_init(Record *record, PyObject *type, const char *const names[3]) {
  Py_INCREF(type);
  record->type = (PyTypeObject *)type;
  record->allocate = (allocfunc)PyType_GetSlot(record->type, Py_tp_alloc);
  for (int i = 0; i < 3; ++i) {
    record->slots[i] = PyObject_GetAttrString(type, names[i]);
    if (record->slots[i] == NULL) return -1;
    PyTypeObject *const descriptor = Py_TYPE(record->slots[i]);
    record->get[i] = (descrgetfunc)PyType_GetSlot(descriptor, Py_tp_descr_get);
    record->set[i] = (descrsetfunc)PyType_GetSlot(descriptor, Py_tp_descr_set);
    if (record->get[i] == NULL || record->set[i] == NULL) {
      PyErr_Format(PyExc_TypeError, "%s is no slot", names[i]);
      return -1;
    }
  }
  return 0;
}

static void record_clear(Record *record) {
  for (int i = 0; i < 3; ++i) Py_CLEAR(record->slots[i]);
  Py_CLEAR(record->type);
}

/* An object that can't be part of a cycle, or NULL: the collector, which would take as long as all
 * else here, needn't look for one. */
static PyObject *untracked(PyObject *made) {
  if (made != NULL && PyType_GetFlags(Py_TYPE(made)) & Py_TPFLAGS_HAVE_GC) PyObject_GC_UnTrack(made);
  return made;
}

/* Takes the values, which may be NULL after an error, and so is what it returns then. They are
 * names, ints and such records, and never set again. */
static PyObject *record_new(const Record *record, PyObject *a, PyObject *b, PyObject *c) {
  PyObject *const values[3] = {a, b, c};
  PyObject *made = a && b && c ? record->allocate(record->type, 0) : NULL;
  for (int i = 0; i < 3; ++i) {
    if (made != NULL && record->set[i](record->slots[i], made, values[i]) < 0) Py_CLEAR(made);
    Py_XDECREF(values[i]);
  }
  return untracked(made);
}

static PyObject *name_new(const Coins *self, const char *bytes) {
  PyObject *const plain = PyBytes_FromStringAndSize(bytes, kNameBytes);
  PyObject *const arguments = plain ? PyTuple_Pack(1, plain) : NULL;
  PyObject *const name = arguments ? self->new_bytes(self->name_type, arguments, NULL) : NULL;
  Py_XDECREF(arguments);
  Py_XDECREF(plain);
  return untracked(name);
}

static PyObject *info_new(const Coins *self, const char *packed) {
  Info info;
  memcpy(&info, packed, sizeof info);
  PyObject *const coin =
      record_new(&self->coin, name_new(self, info.parent), name_new(self, info.puzzle_hash),
                 PyLong_FromUnsignedLongLong(info.amount));
  return record_new(&self->info, coin, PyLong_FromUnsignedLong(info.confirmed),
                    PyLong_FromUnsignedLong(info.spent));
}

static PyObject *unpacked(const Coins *self, const Py_buffer *infos, const Py_buffer *found) {
  if (infos->len != found->len * (Py_ssize_t)sizeof(Info)) {
    PyErr_SetString(PyExc_ValueError, "an info, and whether it was found, of each name");
    return NULL;
  }
  PyObject *const list = PyList_New(0);
  for (Py_ssize_t i = 0; list != NULL && i < found->len; ++i) {
    if (((const char *)found->buf)[i] == 0) continue;
    PyObject *const info = info_new(self, (const char *)infos->buf + i * (Py_ssize_t)sizeof(Info));
    const int failed = info == NULL || PyList_Append(list, info) < 0;
    Py_XDECREF(info);
    if (!failed) continue;
    Py_DECREF(list);
    return NULL;
  }
  return list;
}

static PyObject *coins_unpacked(PyObject *self, PyObject *arguments) {
  Py_buffer infos, found;
  if (!PyArg_ParseTuple(arguments, "y*y*", &infos, &found)) return NULL;
  PyObject *const list = unpacked((const Coins *)self, &infos, &found);
  PyBuffer_Release(&found);
  PyBuffer_Release(&infos);
  return list;
}

/* Whether it is bytes, or bytes32, of a name's length, which is copied then. */
static int copy_name(const Coins *self, PyObject *name, char *to) {
  PyTypeObject *const type = Py_TYPE(name);
  if (type != &PyBytes_Type && type != self->name_type) return 0;
  if (PyBytes_Size(name) != kNameBytes) return 0;
  memcpy(to, PyBytes_AsString(name), kNameBytes);
  return 1;
}

/* The names of a list or tuple; NULL without an error where it is of another kind. */
static PyObject *joined(const Coins *self, PyObject *names) {
  const int is_list = PyList_CheckExact(names);
  if (!is_list && !PyTuple_CheckExact(names)) return NULL;
  const Py_ssize_t n = is_list ? PyList_Size(names) : PyTuple_Size(names);
  if (n > PY_SSIZE_T_MAX / kNameBytes) return NULL;
  PyObject *const joined = PyBytes_FromStringAndSize(NULL, n * kNameBytes);
  char *to = joined ? PyBytes_AsString(joined) : NULL;
  for (Py_ssize_t i = 0; joined != NULL && i < n; ++i, to += kNameBytes) {
    PyObject *const name = is_list ? PyList_GetItem(names, i) : PyTuple_GetItem(names, i);
    if (copy_name(self, name, to)) continue;
    Py_DECREF(joined);
    return NULL;
  }
  return joined;
}

/* What was made, or None, or an error. */
static PyObject *or_none(PyObject *made) {
  if (made != NULL || PyErr_Occurred()) return made;
  Py_RETURN_NONE;
}

static PyObject *coins_joined(PyObject *self, PyObject *names) {
  return or_none(joined((const Coins *)self, names));
}

static int copy_amount(PyObject *amount, char *to) {
  if (Py_TYPE(amount) != &PyLong_Type) return 0;
  const unsigned long long value = PyLong_AsUnsignedLongLong(amount);
  if (PyErr_Occurred()) {
    PyErr_Clear(); /* It does not fit. */
    return 0;
  }
  for (int i = 0; i < kAmountBytes; ++i) to[i] = (char)(value >> (8 * (kAmountBytes - 1 - i)));
  return 1;
}

static int copy_field(const Coins *self, PyObject *coin, int field, char *to) {
  const Record *const record = &self->coin;
  PyObject *const value = record->get[field](record->slots[field], coin, (PyObject *)record->type);
  if (value == NULL) PyErr_Clear(); /* It was never set. */
  const int is_copied =
      value != NULL && (field < 2 ? copy_name(self, value, to) : copy_amount(value, to));
  Py_XDECREF(value);
  return is_copied;
}

static int copy_coin(const Coins *self, PyObject *coin, char *to) {
  return Py_TYPE(coin) == self->coin.type && copy_field(self, coin, 0, to) &&
         copy_field(self, coin, 1, to + kNameBytes) &&
         copy_field(self, coin, 2, to + 2 * kNameBytes);
}

static PyObject *packed_coins(const Coins *self, PyObject *coins) {
  if (!PyList_CheckExact(coins)) return NULL;
  const Py_ssize_t n = PyList_Size(coins);
  if (n > PY_SSIZE_T_MAX / kConfirmBytes) return NULL;
  PyObject *const packed = PyBytes_FromStringAndSize(NULL, n * kConfirmBytes);
  char *to = packed ? PyBytes_AsString(packed) : NULL;
  for (Py_ssize_t i = 0; packed != NULL && i < n; ++i, to += kConfirmBytes) {
    if (copy_coin(self, PyList_GetItem(coins, i), to)) continue;
    Py_DECREF(packed);
    return NULL;
  }
  return packed;
}

static int compare_names(const void *a, const void *b) { return memcmp(a, b, kNameBytes); }

static int compare_coins(const void *a, const void *b) { return memcmp(a, b, kConfirmBytes); }

/* Of bytes that nobody else has yet. */
static void sort(PyObject *entries, size_t entry_bytes,
                 int (*compare)(const void *, const void *)) {
  qsort(PyBytes_AsString(entries), (size_t)PyBytes_Size(entries) / entry_bytes, entry_bytes,
        compare);
}

static PyObject *coins_packed(PyObject *self, PyObject *arguments) {
  PyObject *spends, *confirms;
  if (!PyArg_ParseTuple(arguments, "OO", &spends, &confirms)) return NULL;
  PyObject *const names = joined((const Coins *)self, spends);
  PyObject *const coins = names ? packed_coins((const Coins *)self, confirms) : NULL;
  PyObject *packed = NULL;
  if (coins != NULL) {
    sort(names, kNameBytes, compare_names);
    sort(coins, kConfirmBytes, compare_coins);
    packed = PyTuple_Pack(2, names, coins);
  }
  Py_XDECREF(coins);
  Py_XDECREF(names);
  return or_none(packed);
}

static PyObject *coins_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static const char *const kInfo[3] = {"coin", "confirmed_index", "spent_index"};
  static const char *const kCoin[3] = {"parent_coin_name", "puzzle_hash", "amount"};
  PyObject *info_type, *coin_type, *name_type;
  if (keywords != NULL && PyDict_Size(keywords) > 0) {
    PyErr_SetString(PyExc_TypeError, "Coins takes no keywords");
    return NULL;
  }
  if (!PyArg_ParseTuple(arguments, "O!O!O!", &PyType_Type, &info_type, &PyType_Type, &coin_type,
                        &PyType_Type, &name_type))
    return NULL;
  Coins *const self = (Coins *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == NULL) return NULL;
  Py_INCREF(name_type);
  self->name_type = (PyTypeObject *)name_type;
  self->new_bytes = (newfunc)PyType_GetSlot(&PyBytes_Type, Py_tp_new);
  if (record_init(&self->info, info_type, kInfo) < 0 ||
      record_init(&self->coin, coin_type, kCoin) < 0) {
    Py_DECREF(self);
    return NULL;
  }
  return (PyObject *)self;
}

static void coins_dealloc(PyObject *object) {
  Coins *const self = (Coins *)object;
  PyTypeObject *const type = Py_TYPE(object);
  record_clear(&self->info);
  record_clear(&self->coin);
  Py_CLEAR(self->name_type);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyMethodDef kMethods[] = {
    {"joined", coins_joined, METH_O, "The names without gaps, or None."},
    {"packed", coins_packed, METH_VARARGS, "A block's names and coins, or None."},
    {"unpacked", coins_unpacked, METH_VARARGS, "The coins that a look-up has found."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot kSlots[] = {
    {Py_tp_new, (void *)coins_new},
    {Py_tp_dealloc, (void *)coins_dealloc},
    {Py_tp_methods, kMethods},
    {0, NULL},
};

static PyType_Spec kSpec = {"cdb.extensions._objects.Coins", sizeof(Coins), 0, Py_TPFLAGS_DEFAULT,
                            kSlots};

static int module_exec(PyObject *module) {
  PyObject *const type = PyType_FromModuleAndSpec(module, &kSpec, NULL);
  const int failed = type == NULL || PyModule_AddObjectRef(module, "Coins", type) < 0;
  Py_XDECREF(type);
  return failed ? -1 : 0;
}

static PyModuleDef_Slot kModuleSlots[] = {{Py_mod_exec, (void *)module_exec}, {0, NULL}};

static PyModuleDef kModule = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_objects",
    .m_doc = "Coins as objects of Python.",
    .m_slots = kModuleSlots,
};

PyMODINIT_FUNC PyInit__objects(void);
PyMODINIT_FUNC PyInit__objects(void) { return PyModuleDef_Init(&kModule); }
