/*
 * Coins as Python's objects, made of what a look-up gives in packed form (cdb/contract/packed.py), and
 * the names of a look-up put together. A module of its own and not cffi's, for it makes objects.
 *
 *     coins = Coins(CoinInfo, Coin, bytes32)
 *     coins.joined([name, ...])       the names without gaps; None unless it is a list or tuple of
 *                                     bytes, or bytes32, of 32 bytes each: then somebody else says
 *                                     what is wrong with them
 *     coins.unpacked(infos, found)    a list of the CoinInfo that were found
 *
 * CoinInfo and Coin are frozen dataclasses with slots; their fields are set as their own __init__
 * sets them, but for the calls that this takes in Python.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

enum { kNameBytes = 32, kCoinFields = 3, kInfoFields = 3 };

/* INFO_FORMAT of cdb/contract/packed.py. */
typedef struct {
  char parent[kNameBytes], puzzle_hash[kNameBytes];
  uint64_t amount;
  uint32_t confirmed, spent;
} Info;

/* A class with slots: how one is allocated, and each slot set. */
typedef struct {
  PyTypeObject *type;
  allocfunc allocate;
  PyObject *slots[3];
  descrsetfunc set[3];
} Record;

typedef struct {
  PyObject_HEAD
  Record info, coin;
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
    record->set[i] = (descrsetfunc)PyType_GetSlot(Py_TYPE(record->slots[i]), Py_tp_descr_set);
    if (record->set[i] == NULL) {
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

/* Takes the values, which may be NULL after an error, and so is what it returns then. */
static PyObject *record_new(const Record *record, PyObject *a, PyObject *b, PyObject *c) {
  PyObject *const values[3] = {a, b, c};
  PyObject *made = a && b && c ? record->allocate(record->type, 0) : NULL;
  for (int i = 0; i < 3; ++i) {
    if (made != NULL && record->set[i](record->slots[i], made, values[i]) < 0) Py_CLEAR(made);
    Py_XDECREF(values[i]);
  }
  return made;
}

static PyObject *name_new(const Coins *self, const char *bytes) {
  PyObject *const plain = PyBytes_FromStringAndSize(bytes, kNameBytes);
  PyObject *const arguments = plain ? PyTuple_Pack(1, plain) : NULL;
  PyObject *const name = arguments ? self->new_bytes(self->name_type, arguments, NULL) : NULL;
  Py_XDECREF(arguments);
  Py_XDECREF(plain);
  return name;
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
    PyObject *const info =
        info_new(self, (const char *)infos->buf + i * (Py_ssize_t)sizeof(Info));
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

static PyObject *coins_joined(PyObject *self, PyObject *names) {
  const int is_list = PyList_CheckExact(names);
  if (!is_list && !PyTuple_CheckExact(names)) Py_RETURN_NONE;
  const Py_ssize_t n = is_list ? PyList_Size(names) : PyTuple_Size(names);
  if (n > PY_SSIZE_T_MAX / kNameBytes) return PyErr_NoMemory();
  PyObject *const joined = PyBytes_FromStringAndSize(NULL, n * kNameBytes);
  if (joined == NULL) return NULL;
  char *to = PyBytes_AsString(joined);
  for (Py_ssize_t i = 0; i < n; ++i, to += kNameBytes) {
    PyObject *const name = is_list ? PyList_GetItem(names, i) : PyTuple_GetItem(names, i);
    PyTypeObject *const type = Py_TYPE(name);
    if ((type != &PyBytes_Type && type != ((const Coins *)self)->name_type) ||
        PyBytes_Size(name) != kNameBytes) {
      Py_DECREF(joined);
      Py_RETURN_NONE;
    }
    memcpy(to, PyBytes_AsString(name), kNameBytes);
  }
  return joined;
}

static PyObject *coins_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static const char *const kInfo[kInfoFields] = {"coin", "confirmed_index", "spent_index"};
  static const char *const kCoin[kCoinFields] = {"parent_coin_name", "puzzle_hash", "amount"};
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
